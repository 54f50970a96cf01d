/**
 * What the kernel sends: events, messages of the comm, and the data of views.
 *
 * Written from the Python types by `make front`; changed there, never here.
 */

/** The version of the messages that this code knows. */
export const VERSION = 1;

/** The version of the views' data that this code knows. */
export const FORMAT = 1;

/** The comm's target. */
export const TARGET = 'jxkernel';

/** The MIME type of a kind of view. */
export const mimeType = (kind: string): string => `application/vnd.jxkernel.${kind}+json`;

/** What every event has: its place in the tree of spans and its time. */
export interface Event {
  span: number;
  parent: number | null;
  start_ns: number;
  duration_ns: number;
  error: string | null;
}

/** A function was traced to a jaxpr of `eqns` equations. */
export interface Traced extends Event {
  fun: string;
  function_id: number;
  eqns: number;
}

/** A jaxpr became a StableHLO module of `ops` operations. */
export interface Lowered extends Event {
  fun: string;
  function_id: number;
  ops: number;
  stored: number;
  unrolled: boolean;
  divided: boolean;
  kernel_loops: boolean;
}

/** XLA made an executable, or one was loaded from the disk cache (`from_disk`). */
export interface Compiled extends Event {
  fun: string;
  function_id: number;
  platform: string;
  from_disk: boolean;
}

/** A program was made whose every call enters Python, because of its effects. */
export interface FastPathLost extends Event {
  fun: string;
  function_id: number;
  reason: string;
}

/** A cache below the C++ fast path had the answer. */
export interface CacheHit extends Event {
  fun: string;
  function_id: number;
  cache: 'trace' | 'memory' | 'disk';
  bytes: number;
  saved_ns: number;
}

/** A cache had no answer; `reasons` compare the call with the closest earlier one. */
export interface CacheMiss extends Event {
  fun: string;
  function_id: number;
  cache: 'trace' | 'memory' | 'disk';
  reasons: Reason[];
  bytes: number;
  site: string;
}

/** One difference between a call's key and the closest earlier key. */
export interface Reason {
  kind: 'first_call' | 'new_function_object' | 'tree_structure' | 'kwargs_form' | 'shape' | 'dtype' | 'weak_type' | 'static_value' | 'sharding' | 'donated' | 'context' | 'constant_changed' | 'evicted';
  what: string;
  before: string;
  after: string;
  fix: string;
}

/** An executable was called; `duration_ns` is the dispatch, not the device's work. */
export interface Executed extends Event {
  fun: string;
  function_id: number;
  platform: string;
  devices: number[];
}

/** Data moved between memories, named as `host`, `cpu:0`, `gpu:1`. */
export interface Transferred extends Event {
  bytes: number;
  source: string;
  destination: string;
}

/** A NumPy value of a 64-bit dtype became one of the 32-bit dtype, without being asked to. */
export interface Narrowed extends Event {
  dtype: string;
  becomes: string;
  shape: number[];
  lossy: boolean;
  site: string;
}

/** A concrete array was baked into a trace as a constant. */
export interface ConstantCaptured extends Event {
  fun: string;
  name: string;
  shape: number[];
  dtype: string;
  bytes: number;
  function_id: number;
}

/** A tracer outlived its trace: what it was, and which object holds it. */
export interface Leak extends Event {
  fun: string;
  tracer: string;
  holder: string;
}

/** Python did something while tracing that compiled calls will not repeat. */
export interface TraceTimeEffect extends Event {
  fun: string;
  effect: string;
  file: string;
  line: number;
}

/** A notebook cell began; its `parent` is the span that `CellFinished` will carry. */
export interface CellStarted extends Event {
  cell: string;
  execution_count: number | null;
  file: string;
}

/** A notebook cell ended; its span is the root of all that happened in the cell. */
export interface CellFinished extends Event {
  cell: string;
  execution_count: number | null;
  file: string;
}

/** An option got another value for the whole process, by `config.update`. */
export interface SettingChanged extends Event {
  option: string;
  before: string;
  after: string;
}

/** From a front end that joins, or comes back: asks for the status and the history. */
export interface Sync {
  type: 'sync';
  version: number;
}

/** From a front end: asks for what `Channel.answer` was given under a name. */
export interface Request {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  type: 'request';
  version: number;
}

/** The extension was loaded: front ends that hear it join. */
export interface Loaded {
  type: 'loaded';
  version: number;
}

/** The extension was unloaded: nothing more will come on this comm. */
export interface Unloaded {
  type: 'unloaded';
  version: number;
}

/** How the session is; sent to who joins, and when it has changed. */
export interface Status {
  package: string;
  platform: string;
  device: string;
  devices: Device[];
  x64: boolean;
  recording: boolean;
  precision: string;
  teaching: boolean;
  marked: number;
  type: 'status';
  version: number;
}

/** A device of a platform that is running. */
export interface Device {
  name: string;
  kind: string;
}

/** What is under way; sent while it lasts, and once without work when it is over. */
export interface Working {
  work: Work | null;
  type: 'working';
  version: number;
}

/** A stage that has been under way for a while. */
export interface Work {
  stage: string;
  fun: string;
  eqns: number;
  elapsed_ns: number;
}

/** Events as they were recorded. */
export interface Batch {
  events: WireEvent[];
  dropped: number;
  type: 'batch';
  version: number;
}

/** The latest events, in the place of all that was sent before. */
export interface History {
  events: WireEvent[];
  left_out: number;
  dropped: number;
  type: 'history';
  version: number;
}

/** The answer to a request: a value, or an error in words. */
export interface Reply {
  id: string;
  value: unknown;
  error: string;
  type: 'reply';
  version: number;
}

/** What happened in a `%%jit` cell. */
export interface JitPayload {
  cell: string;
  function: string;
  defined: string[];
  version: number;
  summary: string;
  hit: boolean;
  why: string;
  times_ns: TimesPayload;
  device: string;
  traced: Record<string, string>;
  static: Record<string, string>;
  assigned: string[];
  warnings: string[];
  open: string[];
  jaxpr: JaxprPayload | null;
  provenance: ProvenancePayload | null;
  sections: SectionPayload[];
}

/** The stages' times in nanoseconds; `run` is None where a cell was not run. */
export interface TimesPayload {
  trace: number;
  lower: number;
  compile: number;
  run: number | null;
}

/** A program, `application/vnd.jxkernel.jaxpr+json`; `count` counts all, listed or not. */
export interface JaxprPayload {
  title: string;
  token: string;
  stack: string[];
  count: number;
  flops: number;
  bytes: number;
  inputs: string;
  equations: EquationPayload[];
  programs: ProgramPayload[];
  results: string;
  source: SourceLinePayload[];
}

/** An equation: a row of the list, at its depth; `number` is its place in it, from 1. */
export interface EquationPayload {
  number: number;
  depth: number;
  named: boolean;
  text: string;
  primitive: string;
  operands: string[];
  results: string[];
  file: string;
  line: number;
  flops: number;
  bytes: number;
}

/** A program of the list: the whole one, or one inside an equation. */
export interface ProgramPayload {
  label: string;
  head: string;
  tail: string;
  inputs: string[];
  results: string[];
  equation: number;
  depth: number;
  first: number;
  end: number;
  left_out: number;
}

/** A line of the user's code, and how many equations it made. */
export interface SourceLinePayload {
  file: string;
  line: number;
  text: string;
  equations: number;
  flops: number;
}

/** What was traced and what was static. */
export interface ProvenancePayload {
  legend: string;
  functions: FunctionMapPayload[];
}

/** A traced function's source, from `source_line` on, and what its names are. */
export interface FunctionMapPayload {
  name: string;
  file: string;
  first_line: number;
  source_line: number;
  source: string[];
  names: NameFact[];
  marks: Mark[];
  loops: Loop[];
}

/** What a name is to tracing, after its latest assignment. */
export interface NameFact {
  name: string;
  function: string;
  kind: 'traced' | 'static' | 'constant' | 'effect';
  detail: string;
  line: number;
  code: string;
  chain: Link[];
  depends_on: string[];
  bytes: number;
  is_argument: boolean;
}

/** One step of a chain back to an argument. */
export interface Link {
  name: string;
  detail: string;
  line: number;
  code: string;
}

/** A name or an expression in the source, and what it is to tracing. */
export interface Mark {
  kind: 'traced' | 'static' | 'constant' | 'effect';
  code: string;
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  detail: string;
  bytes: number;
  is_name: boolean;
}

/** A Python loop that tracing unrolled. */
export interface Loop {
  line: number;
  code: string;
  times: number;
  equations: number;
  instead: string;
  rewrite: string;
}

/** A text of a `%%jit` cell; some have more fields, those of the view of their name. */
export interface SectionPayload {
  name: string;
  title: string;
  text: string;
}

/** A program at four stages; `left_out` counts the lines that are not listed. */
export interface StagesPayload {
  jaxpr: JaxprPayload;
  stablehlo: StageLine[];
  optimized: StageLine[];
  left_out: number;
}

/** A line of a module's text, and the user's line that it came from. */
export interface StageLine {
  text: string;
  file: string;
  line: number;
}

/** Two programs compared. */
export interface DiffPayload {
  before: string;
  after: string;
  summary: string;
  left_out: number;
  rows: (SamePayload | DiffRow)[];
}

/** A number of rows that both sides of a diff have. */
export interface SamePayload {
  same: number;
}

/** A line of the comparison. */
export interface DiffRow {
  sign: '=' | '~' | '-' | '+';
  depth: number;
  before: string;
  after: string;
  line: number;
}

/** The recompilation ledger; the timeline is of the latest rows, where there are many. */
export interface LedgerPayload {
  rows: LedgerRowPayload[];
  left_out: number;
  dropped: number;
  timeline: BuildTimeline;
  token: string;
}

/** One build of a program: the fields of `observe.LedgerRow`, and what they come to. */
export interface LedgerRowPayload extends LedgerRow {
  why: string;
  fix: string;
  cost_ns: number;
}

/** One time that a function was traced, lowered or compiled. */
export interface LedgerRow {
  number: number;
  when: number;
  cell: string | null;
  fun: string;
  function_id: number;
  cache: 'trace' | 'memory' | 'disk' | null;
  reasons: Reason[];
  eqns: number | null;
  trace_ns: number;
  lower_ns: number;
  compile_ns: number;
  from_disk: boolean;
  disk: '' | 'hit' | 'miss';
  saved_ns: number;
  site: string;
  slow: string;
  stored: number;
  unrolled: boolean;
  divided: boolean;
  kernel_loops: boolean;
  error: string | null;
  total_ns: number;
  storm: string;
}

/** Bars by function. */
export interface BuildTimeline {
  lanes: string[];
  bars: Bar[];
  breaks: IdleTime[];
  start: number;
  seconds: number;
}

/** A stretch of work. */
export interface Bar {
  row: number;
  lane: string;
  stage: string;
  start: number;
  seconds: number;
  fun: string;
  cell: string;
}

/** Where idle time was taken out. */
export interface IdleTime {
  at: number;
  when: number;
  seconds: number;
}

/** Live arrays and what devices hold. */
export interface MemoryPayload {
  arrays: TablePayload;
  devices: TablePayload;
}

/** A table of texts; `count` counts its rows, shown or not. */
export interface TablePayload {
  title: string;
  head: string[];
  rows: string[][];
  count: number;
}

/** What may be freed where memory ran out; `token` is that of the session that knows it. */
export interface ShortagePayload {
  token: string;
  offered: HeldPayload[];
}

/** Something that a click frees; `name` is what `%jx free` takes. */
export interface HeldPayload {
  name: string;
  bytes: number;
}

/** A profile. */
export interface TimelinePayload {
  duration_ns: number;
  device_ns: number;
  cells: NamedTimePayload[];
  lanes: LanePayload[];
  lines: ShareLinePayload[];
  files: string[];
}

/** Time on the device, by cell. */
export interface NamedTimePayload {
  name: string;
  device_ns: number;
}

/** A lane of a timeline; `count` counts its slices, sent or not. */
export interface LanePayload {
  name: string;
  kind: string;
  count: number;
  slices: SlicePayload[];
}

/** A stretch of a lane; `hue` is the colour of its stage or its line, in degrees. */
export interface SlicePayload {
  name: string;
  hue: number;
  start_ns: number;
  duration_ns: number;
  program: string;
  origin: string;
  spots: string[];
}

/** Time on the device, by line; `source` is its text. */
export interface ShareLinePayload {
  line: string;
  source: string;
  total_ns: number;
  share: number;
}

/** The answer to the request `program_part`: equations, and the programs that begin or end. */
export interface ProgramPart {
  programs: ProgramPayload[];
  equations: EquationColumns;
  is_last: boolean;
}

/** Equations that follow each other, by columns: long programs are sent in a fraction of time. */
export interface EquationColumns {
  first: number;
  depth: number[];
  named: boolean[];
  text: string[];
  primitive: string[];
  operands: string[];
  results: string[];
  files: string[];
  file: number[];
  line: number[];
  flops: number[];
  bytes: number[];
}

/** The answer to the request `line_costs`: the lines of all programs that jit keeps. */
export interface LineCostsAnswer {
  lines: LineCostPayload[];
}

/** What a source line costs, and what devices took for it in the latest profile; 0 for none. */
export interface LineCostPayload {
  file: string;
  line: number;
  flops: number;
  bytes: number;
  device_ns: number;
}

/** Functions that were traced since one asked, each in the place of an earlier map of its. */
export interface MarksPayload {
  maps: MarkedPayload[];
}

/** A function whose cell shows no map. */
export interface MarkedPayload {
  number: number;
  count: number;
  cell: string;
  function: FunctionMapPayload;
}

/** The titles of programs that one can be compared with, those of its function first. */
export interface OthersAnswer {
  titles: string[];
}

/** Two programs compared, as data and as text. */
export interface CompareAnswer {
  diff: DiffPayload;
  text: string;
}

/** The ledger for the panel: builds of functions, newest first; `cells` are ids by label. */
export interface LedgerAnswer {
  rows: LedgerRowPayload[];
  left_out: number;
  dropped: number;
  token: string;
  outside: LedgerTotal;
  by_cell: LedgerTotal[];
  by_site: LedgerTotal[];
  by_function: LedgerTotal[];
  cells: Record<string, string>;
  text: string;
}

/** The rows of one cell, line or function added up. */
export interface LedgerTotal {
  label: string;
  builds: number;
  traces: number;
  compiles: number;
  from_disk: number;
  avoidable: number;
  cost_ns: number;
}

/** The living functions that jit has traced, the costliest first. */
export interface FunctionsAnswer {
  rows: FunctionRow[];
  left_out: number;
  cells: Record<string, string>;
  text: string;
}

/** The place as words, and as a path from the kernel's folder where it is a file there. */
export interface FunctionRow extends TracedFunction {
  place: string;
  path: string;
}

/** A living function that jit has traced. */
export interface TracedFunction {
  name: string;
  function_id: number;
  file: string;
  line: number;
  kept: number;
  builds: number;
  avoidable: number;
  cost_ns: number;
  latest: string;
}

/** What was built in a cell, and why. */
export interface ExplainAnswer {
  title: string;
  text: string;
}

/** Live arrays, largest first, and the devices; none of either before a platform runs. */
export interface LiveAnswer {
  rows: LiveRow[];
  left_out: number;
  left_out_bytes: number;
  count: number;
  bytes: number;
  devices: DeviceMemory[];
  text: string;
}

/** The variables and outputs that can be released to release it. */
export interface LiveRow extends LiveArray {
  roots: string[];
}

/** An array that is alive, in words. */
export interface LiveArray {
  type: string;
  bytes: number;
  devices: string[];
  names: string[];
  outputs: number[];
  holders: string[];
  deleted: boolean;
}

/** What a device holds. */
export interface DeviceMemory {
  device: string;
  arrays: number;
  array_bytes: number;
  in_use: number | null;
  limit: number | null;
  free: number | null;
}

/** What releasing would delete, or has deleted. */
export interface FreeAnswer extends Freeing {
  names: string[];
}

/** What `free` would delete. */
export interface Freeing {
  arrays: number;
  bytes: number;
  also: string[];
}

/** What was freed, in bytes. */
export interface RoomAnswer {
  bytes: number;
}

/** What computes now, what can be chosen, and the largest arrays of each device. */
export interface BackendAnswer extends BackendState {
  is_started: boolean;
  precisions: string[];
  most_cpu_devices: number;
  largest: Record<string, LiveArray[]>;
  text: string;
}

/** What computes now. */
export interface BackendState {
  device: string;
  is_chosen: boolean;
  cpu_devices: number;
  x64: boolean;
  precision: string;
  platforms: PlatformState[];
  group: string;
}

/** A platform: what runs it, and how it is. */
export interface PlatformState {
  name: string;
  status: string;
  plugin: string;
  devices: DeviceState[];
}

/** A device. */
export interface DeviceState {
  name: string;
  kind: string;
  is_default: boolean;
  arrays: number;
  array_bytes: number;
  in_use: number | null;
  limit: number | null;
  free: number | null;
}

/** What a change of the backend would do, or has done. */
export interface PreviewAnswer extends BackendPreview {
  changes: boolean;
  asks: boolean;
  text: string;
}

/** What a change does. */
export interface BackendPreview {
  steps: SettingStep[];
  moves: Placed[];
  stays: Placed[];
  retraced: string[];
  notes: string[];
  restart: string[];
}

/** One setting that a change changes, in words: what, from, to. */
export interface SettingStep {
  what: string;
  before: string;
  after: string;
}

/** An array that variables hold, and where it lies. */
export interface Placed {
  names: string[];
  type: string;
  bytes: number;
  source: string;
  target: string;
  committed: boolean;
}

/** The ranks of the cluster; none where there is no cluster. */
export interface ClusterAnswer {
  address: string;
  is_running: boolean;
  ranks: ClusterRank[];
  text: string;
}

/** A rank of a cluster. */
export interface ClusterRank {
  rank: number;
  host: string;
  process: number;
  devices: string[];
  bytes: number;
  state: string;
  why: string;
  place: string;
  code: string;
  seconds: number;
}

/** What is remembered, in words, or what was forgotten. */
export interface CachesAnswer {
  functions: number;
  disk_entries: number;
  disk_size: string;
  disk_folder: string;
  text: string;
}

/** Whether teaching mode is on. */
export interface TeachAnswer {
  on: boolean;
}

/** Whether the exercise is one whose answers are kept. */
export interface GuessAnswer {
  kept: boolean;
}

/** What the recorder adds to an event: its cell, and times in s and ns. */
export interface Recorded<K extends string> {
  kind: K;
  cell: string | null;
  when: number;
  self_ns: number;
}

/** An event as it is sent. */
export type WireEvent =
  | (Traced & Recorded<'Traced'>)
  | (Lowered & Recorded<'Lowered'>)
  | (Compiled & Recorded<'Compiled'>)
  | (FastPathLost & Recorded<'FastPathLost'>)
  | (CacheHit & Recorded<'CacheHit'>)
  | (CacheMiss & Recorded<'CacheMiss'>)
  | (Executed & Recorded<'Executed'>)
  | (Transferred & Recorded<'Transferred'>)
  | (Narrowed & Recorded<'Narrowed'>)
  | (ConstantCaptured & Recorded<'ConstantCaptured'>)
  | (Leak & Recorded<'Leak'>)
  | (TraceTimeEffect & Recorded<'TraceTimeEffect'>)
  | (CellStarted & Recorded<'CellStarted'>)
  | (CellFinished & Recorded<'CellFinished'>)
  | (SettingChanged & Recorded<'SettingChanged'>);

/** The data of each kind of view. */
export interface Payloads {
  jit: JitPayload;
  jaxpr: JaxprPayload;
  stages: StagesPayload;
  provenance: ProvenancePayload;
  diff: DiffPayload;
  ledger: LedgerPayload;
  memory: MemoryPayload;
  shortage: ShortagePayload;
  timeline: TimelinePayload;
  table: TablePayload;
}

/** The answer to each request. */
export interface Answers {
  program_part: ProgramPart;
  line_costs: LineCostsAnswer;
  marks: MarksPayload;
  others: OthersAnswer;
  compare: CompareAnswer;
  ledger: LedgerAnswer;
  builds: LedgerPayload;
  functions: FunctionsAnswer;
  explain: ExplainAnswer;
  live: LiveAnswer;
  freeing: FreeAnswer;
  free: FreeAnswer;
  make_room: RoomAnswer;
  backend: BackendAnswer;
  preview: PreviewAnswer;
  apply: PreviewAnswer;
  cluster: ClusterAnswer;
  caches: CachesAnswer;
  clear_caches: CachesAnswer;
  teach: TeachAnswer;
  guess: GuessAnswer;
}

/** What goes over the comm. */
export type FromFront = Sync | Request;

/** What goes over the comm. */
export type FromKernel = Loaded | Unloaded | Status | Working | Batch | History | Reply;

/** How data must be to be a record: see `shared/shapes.ts`. */
export const SHAPES: Readonly<Record<string, unknown>> = {
  BackendAnswer: {"device": "string", "is_chosen": "boolean", "cpu_devices": "number", "x64": "boolean", "precision": "string", "platforms": ["PlatformState"], "group": "string", "is_started": "boolean", "precisions": ["string"], "most_cpu_devices": "number", "largest": {"values": ["LiveArray"]}, "text": "string"},
  BackendPreview: {"steps": ["SettingStep"], "moves": ["Placed"], "stays": ["Placed"], "retraced": ["string"], "notes": ["string"], "restart": ["string"]},
  BackendState: {"device": "string", "is_chosen": "boolean", "cpu_devices": "number", "x64": "boolean", "precision": "string", "platforms": ["PlatformState"], "group": "string"},
  Bar: {"row": "number", "lane": "string", "stage": "string", "start": "number", "seconds": "number", "fun": "string", "cell": "string"},
  Batch: {"events": [{"values": "unknown"}], "dropped": "number", "type": {"is": ["batch"]}, "version": "number"},
  BuildTimeline: {"lanes": ["string"], "bars": ["Bar"], "breaks": ["IdleTime"], "start": "number", "seconds": "number"},
  CachesAnswer: {"functions": "number", "disk_entries": "number", "disk_size": "string", "disk_folder": "string", "text": "string"},
  ClusterAnswer: {"address": "string", "is_running": "boolean", "ranks": ["ClusterRank"], "text": "string"},
  ClusterRank: {"rank": "number", "host": "string", "process": "number", "devices": ["string"], "bytes": "number", "state": "string", "why": "string", "place": "string", "code": "string", "seconds": "number"},
  CompareAnswer: {"diff": "DiffPayload", "text": "string"},
  Device: {"name": "string", "kind": "string"},
  DeviceMemory: {"device": "string", "arrays": "number", "array_bytes": "number", "in_use": {"either": ["number", "null"]}, "limit": {"either": ["number", "null"]}, "free": {"either": ["number", "null"]}},
  DeviceState: {"name": "string", "kind": "string", "is_default": "boolean", "arrays": "number", "array_bytes": "number", "in_use": {"either": ["number", "null"]}, "limit": {"either": ["number", "null"]}, "free": {"either": ["number", "null"]}},
  DiffPayload: {"before": "string", "after": "string", "summary": "string", "left_out": "number", "rows": [{"either": ["SamePayload", "DiffRow"]}]},
  DiffRow: {"sign": {"is": ["=", "~", "-", "+"]}, "depth": "number", "before": "string", "after": "string", "line": "number"},
  EquationColumns: {"first": "number", "depth": ["number"], "named": ["boolean"], "text": ["string"], "primitive": ["string"], "operands": ["string"], "results": ["string"], "files": ["string"], "file": ["number"], "line": ["number"], "flops": ["number"], "bytes": ["number"]},
  EquationPayload: {"number": "number", "depth": "number", "named": "boolean", "text": "string", "primitive": "string", "operands": ["string"], "results": ["string"], "file": "string", "line": "number", "flops": "number", "bytes": "number"},
  Event: {"span": "number", "parent": {"either": ["number", "null"]}, "start_ns": "number", "duration_ns": "number", "error": {"either": ["string", "null"]}},
  ExplainAnswer: {"title": "string", "text": "string"},
  FreeAnswer: {"arrays": "number", "bytes": "number", "also": ["string"], "names": ["string"]},
  Freeing: {"arrays": "number", "bytes": "number", "also": ["string"]},
  FunctionMapPayload: {"name": "string", "file": "string", "first_line": "number", "source_line": "number", "source": ["string"], "names": ["NameFact"], "marks": ["Mark"], "loops": ["Loop"]},
  FunctionRow: {"name": "string", "function_id": "number", "file": "string", "line": "number", "kept": "number", "builds": "number", "avoidable": "number", "cost_ns": "number", "latest": "string", "place": "string", "path": "string"},
  FunctionsAnswer: {"rows": ["FunctionRow"], "left_out": "number", "cells": {"values": "string"}, "text": "string"},
  GuessAnswer: {"kept": "boolean"},
  HeldPayload: {"name": "string", "bytes": "number"},
  History: {"events": [{"values": "unknown"}], "left_out": "number", "dropped": "number", "type": {"is": ["history"]}, "version": "number"},
  IdleTime: {"at": "number", "when": "number", "seconds": "number"},
  JaxprPayload: {"title": "string", "token": "string", "stack": ["string"], "count": "number", "flops": "number", "bytes": "number", "inputs": "string", "equations": ["EquationPayload"], "programs": ["ProgramPayload"], "results": "string", "source": ["SourceLinePayload"]},
  JitPayload: {"cell": "string", "function": "string", "defined": ["string"], "version": "number", "summary": "string", "hit": "boolean", "why": "string", "times_ns": "TimesPayload", "device": "string", "traced": {"values": "string"}, "static": {"values": "string"}, "assigned": ["string"], "warnings": ["string"], "open": ["string"], "jaxpr": {"either": ["JaxprPayload", "null"]}, "provenance": {"either": ["ProvenancePayload", "null"]}, "sections": ["SectionPayload"]},
  LanePayload: {"name": "string", "kind": "string", "count": "number", "slices": ["SlicePayload"]},
  LedgerAnswer: {"rows": ["LedgerRowPayload"], "left_out": "number", "dropped": "number", "token": "string", "outside": "LedgerTotal", "by_cell": ["LedgerTotal"], "by_site": ["LedgerTotal"], "by_function": ["LedgerTotal"], "cells": {"values": "string"}, "text": "string"},
  LedgerPayload: {"rows": ["LedgerRowPayload"], "left_out": "number", "dropped": "number", "timeline": "BuildTimeline", "token": "string"},
  LedgerRow: {"number": "number", "when": "number", "cell": {"either": ["string", "null"]}, "fun": "string", "function_id": "number", "cache": {"either": [{"is": ["trace", "memory", "disk"]}, "null"]}, "reasons": ["Reason"], "eqns": {"either": ["number", "null"]}, "trace_ns": "number", "lower_ns": "number", "compile_ns": "number", "from_disk": "boolean", "disk": {"is": ["", "hit", "miss"]}, "saved_ns": "number", "site": "string", "slow": "string", "stored": "number", "unrolled": "boolean", "divided": "boolean", "kernel_loops": "boolean", "error": {"either": ["string", "null"]}, "total_ns": "number", "storm": "string"},
  LedgerRowPayload: {"number": "number", "when": "number", "cell": {"either": ["string", "null"]}, "fun": "string", "function_id": "number", "cache": {"either": [{"is": ["trace", "memory", "disk"]}, "null"]}, "reasons": ["Reason"], "eqns": {"either": ["number", "null"]}, "trace_ns": "number", "lower_ns": "number", "compile_ns": "number", "from_disk": "boolean", "disk": {"is": ["", "hit", "miss"]}, "saved_ns": "number", "site": "string", "slow": "string", "stored": "number", "unrolled": "boolean", "divided": "boolean", "kernel_loops": "boolean", "error": {"either": ["string", "null"]}, "total_ns": "number", "storm": "string", "why": "string", "fix": "string", "cost_ns": "number"},
  LedgerTotal: {"label": "string", "builds": "number", "traces": "number", "compiles": "number", "from_disk": "number", "avoidable": "number", "cost_ns": "number"},
  LineCostPayload: {"file": "string", "line": "number", "flops": "number", "bytes": "number", "device_ns": "number"},
  LineCostsAnswer: {"lines": ["LineCostPayload"]},
  Link: {"name": "string", "detail": "string", "line": "number", "code": "string"},
  LiveAnswer: {"rows": ["LiveRow"], "left_out": "number", "left_out_bytes": "number", "count": "number", "bytes": "number", "devices": ["DeviceMemory"], "text": "string"},
  LiveArray: {"type": "string", "bytes": "number", "devices": ["string"], "names": ["string"], "outputs": ["number"], "holders": ["string"], "deleted": "boolean"},
  LiveRow: {"type": "string", "bytes": "number", "devices": ["string"], "names": ["string"], "outputs": ["number"], "holders": ["string"], "deleted": "boolean", "roots": ["string"]},
  Loaded: {"type": {"is": ["loaded"]}, "version": "number"},
  Loop: {"line": "number", "code": "string", "times": "number", "equations": "number", "instead": "string", "rewrite": "string"},
  Mark: {"kind": {"is": ["traced", "static", "constant", "effect"]}, "code": "string", "line": "number", "column": "number", "end_line": "number", "end_column": "number", "detail": "string", "bytes": "number", "is_name": "boolean"},
  MarkedPayload: {"number": "number", "count": "number", "cell": "string", "function": "FunctionMapPayload"},
  MarksPayload: {"maps": ["MarkedPayload"]},
  MemoryPayload: {"arrays": "TablePayload", "devices": "TablePayload"},
  NameFact: {"name": "string", "function": "string", "kind": {"is": ["traced", "static", "constant", "effect"]}, "detail": "string", "line": "number", "code": "string", "chain": ["Link"], "depends_on": ["string"], "bytes": "number", "is_argument": "boolean"},
  NamedTimePayload: {"name": "string", "device_ns": "number"},
  OthersAnswer: {"titles": ["string"]},
  Placed: {"names": ["string"], "type": "string", "bytes": "number", "source": "string", "target": "string", "committed": "boolean"},
  PlatformState: {"name": "string", "status": "string", "plugin": "string", "devices": ["DeviceState"]},
  PreviewAnswer: {"steps": ["SettingStep"], "moves": ["Placed"], "stays": ["Placed"], "retraced": ["string"], "notes": ["string"], "restart": ["string"], "changes": "boolean", "asks": "boolean", "text": "string"},
  ProgramPart: {"programs": ["ProgramPayload"], "equations": "EquationColumns", "is_last": "boolean"},
  ProgramPayload: {"label": "string", "head": "string", "tail": "string", "inputs": ["string"], "results": ["string"], "equation": "number", "depth": "number", "first": "number", "end": "number", "left_out": "number"},
  ProvenancePayload: {"legend": "string", "functions": ["FunctionMapPayload"]},
  Reason: {"kind": {"is": ["first_call", "new_function_object", "tree_structure", "kwargs_form", "shape", "dtype", "weak_type", "static_value", "sharding", "donated", "context", "constant_changed", "evicted"]}, "what": "string", "before": "string", "after": "string", "fix": "string"},
  Reply: {"id": "string", "value": "unknown", "error": "string", "type": {"is": ["reply"]}, "version": "number"},
  RoomAnswer: {"bytes": "number"},
  SamePayload: {"same": "number"},
  SectionPayload: {"name": "string", "title": "string", "text": "string"},
  SettingStep: {"what": "string", "before": "string", "after": "string"},
  ShareLinePayload: {"line": "string", "source": "string", "total_ns": "number", "share": "number"},
  ShortagePayload: {"token": "string", "offered": ["HeldPayload"]},
  SlicePayload: {"name": "string", "hue": "number", "start_ns": "number", "duration_ns": "number", "program": "string", "origin": "string", "spots": ["string"]},
  SourceLinePayload: {"file": "string", "line": "number", "text": "string", "equations": "number", "flops": "number"},
  StageLine: {"text": "string", "file": "string", "line": "number"},
  StagesPayload: {"jaxpr": "JaxprPayload", "stablehlo": ["StageLine"], "optimized": ["StageLine"], "left_out": "number"},
  Status: {"package": "string", "platform": "string", "device": "string", "devices": ["Device"], "x64": "boolean", "recording": "boolean", "precision": "string", "teaching": "boolean", "marked": "number", "type": {"is": ["status"]}, "version": "number"},
  TablePayload: {"title": "string", "head": ["string"], "rows": [["string"]], "count": "number"},
  TeachAnswer: {"on": "boolean"},
  TimelinePayload: {"duration_ns": "number", "device_ns": "number", "cells": ["NamedTimePayload"], "lanes": ["LanePayload"], "lines": ["ShareLinePayload"], "files": ["string"]},
  TimesPayload: {"trace": "number", "lower": "number", "compile": "number", "run": {"either": ["number", "null"]}},
  TracedFunction: {"name": "string", "function_id": "number", "file": "string", "line": "number", "kept": "number", "builds": "number", "avoidable": "number", "cost_ns": "number", "latest": "string"},
  Unloaded: {"type": {"is": ["unloaded"]}, "version": "number"},
  Work: {"stage": "string", "fun": "string", "eqns": "number", "elapsed_ns": "number"},
  Working: {"work": {"either": ["Work", "null"]}, "type": {"is": ["working"]}, "version": "number"},
};

/** The record that each kind of view's data is. */
export const PAYLOAD_RECORDS: Readonly<Record<string, string>> = {"jit": "JitPayload", "jaxpr": "JaxprPayload", "stages": "StagesPayload", "provenance": "ProvenancePayload", "diff": "DiffPayload", "ledger": "LedgerPayload", "memory": "MemoryPayload", "shortage": "ShortagePayload", "timeline": "TimelinePayload", "table": "TablePayload"};

/** The record that each type of message is. */
export const MESSAGE_RECORDS: Readonly<Record<string, string>> = {"loaded": "Loaded", "unloaded": "Unloaded", "status": "Status", "working": "Working", "batch": "Batch", "history": "History", "reply": "Reply"};
