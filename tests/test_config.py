"""Settings: where a value comes from, who sees it, and which values are refused."""

import copy
import logging
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import _refusals, random
from jxkernel import config as config_module
from jxkernel._jaxlib import trace_context
from jxkernel.config import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    Settings,
    State,
    config,
    debug_nans,
    default_device,
    default_matmul_precision,
    disable_jit,
    enable_checks,
    enable_x64,
    high_dynamic_range_gumbel,
    log_compiles,
    numpy_dtype_promotion,
    one_of,
    post_hook,
    random_seed_offset,
    threefry_partitionable,
    trace_state,
)

OPTIONS = (
    "jax_enable_x64",
    "jax_disable_jit",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_check_tracer_leaks",
    "jax_log_compiles",
    "jax_explain_cache_misses",
    "jax_long_chains",
    "jax_loop_unrolling",
    "jax_default_device",
    "jax_traceback_filtering",
    "jax_platforms",
    "jax_threefry_partitionable",
    "jax_default_prng_impl",
)


def in_a_thread(function: Any) -> Any:
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.parametrize("option", OPTIONS)
def test_public_option_names_exist_by_attribute_and_by_name(option: str) -> None:
    assert config.read(option) == getattr(config, option) == config.values[option]
    assert getattr(config, option.removeprefix("jax_")).option == option


def test_update_changes_value_for_all_threads() -> None:
    config.update("jax_numpy_rank_promotion", "warn")
    try:
        assert config.jax_numpy_rank_promotion == "warn"
        assert in_a_thread(lambda: config.jax_numpy_rank_promotion) == "warn"
    finally:
        config.update("jax_numpy_rank_promotion", "allow")


def test_context_manager_changes_value_for_this_thread_only() -> None:
    with enable_x64(True):
        assert enable_x64.value is True
        assert in_a_thread(lambda: enable_x64.value) is False
    assert enable_x64.value is False


def test_block_keeps_its_value_while_the_process_changes() -> None:
    with debug_nans(True):
        config.update("jax_debug_nans", False)
        assert debug_nans.value is True
    assert debug_nans.value is False


def test_context_managers_nest_and_restore_in_order() -> None:
    with numpy_dtype_promotion("strict"):
        with numpy_dtype_promotion("standard"):
            assert numpy_dtype_promotion.value == "standard"
        assert numpy_dtype_promotion.value == "strict"
    assert numpy_dtype_promotion.value == "standard"


def test_exception_in_block_restores_value() -> None:
    with pytest.raises(KeyError), enable_x64(True):
        raise KeyError("x")
    assert enable_x64.value is False


def test_override_object_can_be_entered_inside_itself_and_again() -> None:
    override = enable_x64(True)
    with override:
        with override:
            assert enable_x64.value is True
        assert enable_x64.value is True
    assert enable_x64.value is False
    with override:
        assert enable_x64.value is True


def test_override_decorates_a_function_that_recurses_and_runs_in_threads() -> None:
    @default_matmul_precision("highest")
    def depth(n: int) -> list[str]:
        return [default_matmul_precision.value, *(depth(n - 1) if n else [])]

    assert depth(2) == ["highest"] * 3
    assert in_a_thread(lambda: depth(1)) == ["highest"] * 2
    assert default_matmul_precision.value is None


def test_decorated_function_running_in_two_threads_restores_each_ones_value() -> None:
    inside, leave = threading.Event(), threading.Event()

    @numpy_dtype_promotion("standard")
    def run(body: Any) -> None:
        body()

    def stay() -> None:
        inside.set()
        assert leave.wait(10)

    thread = threading.Thread(target=run, args=(stay,))

    def enter_the_other() -> None:
        thread.start()
        assert inside.wait(10)

    with numpy_dtype_promotion("strict"):
        run(enter_the_other)
        # The other thread is inside still; what it found on entry must not come back here.
        found = numpy_dtype_promotion.value
        leave.set()
        thread.join()
    assert found == "strict"


def test_making_an_override_changes_nothing() -> None:
    enable_x64(True)
    assert enable_x64.value is False


@pytest.mark.parametrize("state", [log_compiles, config.checking_leaks, debug_nans])
def test_boolean_option_without_value_is_switched_on(state: State) -> None:
    with state():
        assert state.value is True
    assert state.value is False


def test_disable_jit_takes_its_public_keyword() -> None:
    with disable_jit():
        assert disable_jit.value is True
        with disable_jit(disable=False):
            assert disable_jit.value is False


def test_checking_leaks_is_the_leak_option() -> None:
    with config.checking_leaks():
        assert config.jax_check_tracer_leaks is True


IN_TRACES = {
    "jax_enable_x64": True,
    "jax_disable_jit": True,
    "jax_default_matmul_precision": "high",
    "jax_numpy_dtype_promotion": "strict",
    "jax_numpy_rank_promotion": "raise",
    "jax_check_static_indices": True,
    "jax_debug_key_reuse": True,
    "jax_check_tracer_leaks": True,
    "jax_default_device": "cpu",
    "jax_softmax_custom_jvp": True,
    "jax_allow_f16_reductions": False,
    "jax_auto_pcast": False,
    "jax_remove_size_one_mesh_axis_from_type": True,
    "jax_no_collectives": frozenset({"x"}),
    "jax_threefry_partitionable": False,
    "jax_random_seed_offset": 5,
    "jax_high_dynamic_range_gumbel": True,
    "jax_default_prng_impl": "rbg",
    "jax_enable_custom_prng": True,
    "jax_legacy_prng_key": "error",
    "jax_pallas_enable_debug_checks": True,
    "jax_pallas_dynamic_shapes": True,
    "jax_pallas_poison_buffers": False,
}


@pytest.mark.parametrize(("option", "value"), IN_TRACES.items())
def test_value_that_shapes_traces_is_in_the_trace_context(option: str, value: object) -> None:
    before = trace_context()
    with config.state(option)(value):
        assert trace_context() != before
        assert hash(trace_context()) != hash(before)
    assert trace_context() == before


def test_context_lists_the_options_that_shape_traces() -> None:
    expected = {option: config.read(option) for option in IN_TRACES}
    assert config.context == expected
    with enable_x64(True):
        assert config.context["jax_enable_x64"] is True


@pytest.mark.parametrize(
    "option",
    ["jax_log_compiles", "jax_explain_cache_misses", "jax_debug_nans", "jax_debug_infs"],
)
def test_value_that_only_reports_is_not_in_the_trace_context(option: str) -> None:
    before = trace_context()
    with config.state(option)(True):
        assert trace_context() == before


def test_trace_state_is_per_thread_and_not_in_the_trace_context() -> None:
    before = trace_context()
    previous = trace_state.swap_local("a trace")
    try:
        assert config.trace_state.value == "a trace"
        assert in_a_thread(lambda: trace_state.value) is None
        assert trace_context() == before
    finally:
        trace_state.set_local(previous)
    assert trace_state.value is None


def test_post_hook_is_absent_until_someone_listens() -> None:
    assert post_hook.value is None
    assert config.post_hook is post_hook


def test_defaults_are_those_of_the_field() -> None:
    assert threefry_partitionable.default is True
    assert enable_x64.default is False
    assert config.jax_numpy_dtype_promotion == "standard"
    assert config.jax_default_prng_impl == "threefry2x32"


def test_unknown_option_lists_those_that_exist() -> None:
    with pytest.raises(AttributeError, match=r"no option 'jax_enable_x46'") as update:
        config.update("jax_enable_x46", True)
    assert all(option in str(update.value) for option in OPTIONS)
    with pytest.raises(AttributeError, match="no option 'enable_x46'"):
        _ = config.enable_x46


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("jax_enable_x64", "yes", r"jax_enable_x64 takes True or False; got 'yes'"),
        ("jax_enable_x64", 1, r"takes True or False; got 1"),
        ("jax_numpy_dtype_promotion", "loose", r"'standard', 'strict'; got 'loose'"),
        ("jax_numpy_rank_promotion", None, r"'allow', 'warn', 'raise'; got None"),
        ("jax_default_matmul_precision", "higher", r"'highest'.*got 'higher'"),
        ("jax_default_device", 0, r"takes a device.*got 0"),
        ("jax_platforms", ["cpu"], r"takes a string or None; got \['cpu'\]"),
        ("jax_num_cpu_devices", True, r"takes an integer; got True"),
        ("jax_num_cpu_devices", 2.0, r"takes an integer; got 2.0"),
        ("jax_default_prng_impl", "philox", r"'threefry2x32', 'rbg', 'unsafe_rbg'; got"),
    ],
)
def test_wrong_value_says_what_the_option_takes(option: str, value: Any, message: str) -> None:
    before = config.read(option)
    with pytest.raises(ValueError, match=message):
        config.update(option, value)
    with pytest.raises(ValueError, match=message):
        config.state(option)(value)
    assert config.read(option) == before


def test_option_without_value_that_is_not_boolean_is_refused() -> None:
    with pytest.raises(ValueError, match="'standard', 'strict'; got no value"):
        numpy_dtype_promotion()


def test_default_device_takes_a_platform_name_and_none() -> None:
    with default_device("cpu"):
        assert default_device.value == "cpu"
        with default_device(None):
            assert default_device.value is None


@pytest.mark.parametrize("name", ["enable_x64", "jax_enable_x64"])
def test_assignment_shows_the_line_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match=r"config\.update\('jax_enable_x64', True\)"):
        setattr(config, name, True)


def test_settings_answer_the_questions_of_protocols() -> None:
    assert copy.copy(config).jax_enable_x64 is False
    with pytest.raises(AttributeError):
        _ = config.__wrapped__
    assert not hasattr(config, "_repr_html_")


def test_listing_shows_options_and_values() -> None:
    assert "jax_enable_x64 = False" in repr(config)
    assert {"jax_enable_x64", "update"} <= set(dir(config))
    assert repr(enable_x64) == "<option jax_enable_x64 = False>"


def test_every_option_has_help_and_the_default_is_allowed() -> None:
    for option in config.values:
        state = config.state(option)
        assert state.help.endswith(".")
        assert state.checked(state.default) is state.default


def test_module_and_object_give_the_same_states() -> None:
    assert config.enable_x64 is enable_x64 is config_module.enable_x64


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (BOOLEAN, "1", True),
        (BOOLEAN, "True", True),
        (BOOLEAN, " on ", True),
        (BOOLEAN, "0", False),
        (BOOLEAN, "false", False),
        (BOOLEAN, "", False),
        (INTEGER, "8", 8),
        (NUMBER, "0.5", 0.5),
        (one_of(None, "high"), "high", "high"),
        (one_of(None, "high"), "None", None),
    ],
)
def test_environment_text_is_read(
    kind: Any, text: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JXKERNEL_OF_A_TEST", text)
    assert State("jax_of_a_test", "unset", kind, "For a test.").value == value


@pytest.mark.parametrize(
    ("kind", "text"), [(BOOLEAN, "maybe"), (INTEGER, "many"), (INTEGER, "1.5"), (one_of("a"), "b")]
)
def test_wrong_environment_text_names_the_variable(
    kind: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_OF_A_TEST", text)
    with pytest.raises(ValueError, match=r"environment variable JAX_OF_A_TEST takes .*; got"):
        State("jax_of_a_test", "unset", kind, "For a test.")


def test_environment_variable_of_jxkernel_wins_over_the_fields(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JXKERNEL_OF_A_TEST", "1")
    monkeypatch.setenv("JAX_OF_A_TEST", "2")
    assert State("jax_of_a_test", 0, INTEGER, "For a test.").value == 1
    monkeypatch.delenv("JXKERNEL_OF_A_TEST")
    assert State("jax_of_a_test", 0, INTEGER, "For a test.").value == 2


def test_environment_sets_options_of_a_new_process() -> None:
    variables = {"JXKERNEL_ENABLE_X64": "1", "JAX_NUMPY_DTYPE_PROMOTION": "strict"}
    code = (
        "from jxkernel.config import config, enable_x64\n"
        "assert enable_x64.value is True\n"
        "assert config.jax_numpy_dtype_promotion == 'strict'\n"
        "config.update('jax_enable_x64', False)\n"
        "assert config.jax_enable_x64 is False\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | variables)


def test_enable_checks_is_on_for_the_tests() -> None:
    assert enable_checks.value is True


def test_values_are_a_copy_that_can_be_pickled() -> None:
    values = config.values
    values["jax_enable_x64"] = True
    assert config.jax_enable_x64 is False
    assert pickle.loads(pickle.dumps(config.values)) == config.values


def run_with_arguments(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_flags_of_the_command_line_set_options() -> None:
    code = (
        "import sys\n"
        "from jxkernel.config import config\n"
        "config.parse_flags_with_absl()\n"
        "print(config.jax_enable_x64, config.jax_threefry_partitionable)\n"
        "print(config.jax_default_matmul_precision, config.jax_num_cpu_devices, len(sys.argv))\n"
        "config.parse_flags_with_absl()\n"
    )
    given = ("--jax_enable_x64", "--nojax_threefry_partitionable", "--jax_num_cpu_devices=3")
    done = run_with_arguments(code, *given, "-f", "--other=1", "--", "--jax_platforms=none")
    assert done.stdout.split() == ["True", "False", "None", "3", "8"], done.stderr


def test_an_application_of_absl_sets_options_by_its_flags() -> None:
    code = (
        "from absl import app, flags\n"
        "from jxkernel.config import config\n"
        "flags.DEFINE_integer('steps', 1, 'Steps.')\n"
        "config.config_with_absl()\n"
        "app.run(lambda argv: print(config.jax_default_matmul_precision, flags.FLAGS.steps))\n"
    )
    done = run_with_arguments(code, "--jax_default_matmul_precision=high", "--steps=2")
    assert done.stdout.split() == ["high", "2"], done.stderr


def test_a_flag_of_a_wrong_value_is_refused_by_its_name() -> None:
    code = "from jxkernel.config import config\nconfig.parse_flags_with_absl()\n"
    done = run_with_arguments(code, "--jax_num_cpu_devices=many")
    assert "The flag --jax_num_cpu_devices takes an integer; got 'many'." in done.stderr


def test_flags_without_absl_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "absl", None)
    monkeypatch.delitem(sys.modules, "absl.flags", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install absl-py.*JAX_ENABLE_X64=1"):
        config.parse_flags_with_absl()


def test_the_logging_level_writes_to_stderr_from_that_level_on() -> None:
    code = (
        "import logging\n"
        "import jxkernel as jx\n"
        "jx.jit(lambda x: x + 1)(1.0)\n"
        "jx.config.update('jax_logging_level', 'INFO')\n"
        "jx.jit(lambda x: x + 2)(1.0)\n"
        "logging.getLogger('jxkernel').info('heard')\n"
        "jx.config.update('jax_logging_level', None)\n"
        "assert logging.getLogger('jxkernel').level == logging.NOTSET\n"
        "logging.getLogger('jxkernel').info('unheard')\n"
    )
    command = [sys.executable, "-c", code]
    environment = os.environ | {"JAX_LOGGING_LEVEL": "DEBUG"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    traced, compiled, heard = done.stderr.splitlines()
    assert traced.startswith("DEBUG:")
    assert ":jxkernel: traced <lambda> for" in traced
    assert ":jxkernel: compiled <lambda> in" in compiled
    assert heard.startswith("INFO:")
    assert heard.endswith(":jxkernel: heard")


def test_no_logging_level_leaves_logging_as_it_is_set_up() -> None:
    assert config.jax_logging_level == "NOTSET"
    assert logging.getLogger("jxkernel").handlers == []
    with pytest.raises(ValueError, match=r"takes one of None, 'NOTSET', .*; got 'loud'"):
        config.update("jax_logging_level", "loud")


def test_options_of_jax_that_change_nothing_here_are_kept_and_told() -> None:
    settings = Settings()
    assert settings.jax_traceback_in_locations_limit == 100
    with pytest.warns(UserWarning, match="has no effect here") as told:
        settings.update("jax_traceback_in_locations_limit", 7)
    assert told[0].filename == __file__
    assert settings.read("jax_traceback_in_locations_limit") == 7
    assert settings.values == {"jax_traceback_in_locations_limit": 7}
    settings.update("jax_traceback_in_locations_limit", 100)


def test_an_option_has_an_effect_or_a_reason() -> None:
    assert not [name for name in config.values if name in _refusals._options()]


def test_an_offset_is_added_to_seeds() -> None:
    wanted = random.key(12)
    made = jx.jit(random.key)
    assert made(7) != wanted
    with random_seed_offset(5):
        for found in (random.key(7), random.key(np.int32(7)), random.key(jnp.uint8(7)), made(7)):
            assert found == wanted


def test_numbers_are_drawn_finely_where_no_mode_is_given() -> None:
    key = random.key(3)
    fine = random.gumbel(key, (4,), mode="high").tolist()
    assert random.gumbel(key, (4,)).tolist() != fine
    with high_dynamic_range_gumbel(True):
        assert random.gumbel(key, (4,)).tolist() == fine
        assert random.gumbel(key, (4,), mode="low").tolist() != fine
