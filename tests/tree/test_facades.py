"""The two public faces of pytrees are one thing under two sets of names."""

import pickle
import subprocess
import sys

import pytest

from jxkernel import tree, tree_util

PREFIXED = (
    "all broadcast flatten flatten_with_path leaves leaves_with_path map map_with_path reduce "
    "reduce_associative structure transpose unflatten"
)


@pytest.mark.parametrize("name", PREFIXED.split())
def test_short_and_long_names_are_the_same_function(name: str) -> None:
    assert getattr(tree, name) is getattr(tree_util, f"tree_{name}")


def test_shared_names_are_the_same_objects() -> None:
    shared = set(tree.__all__) & set(tree_util.__all__)
    assert {"Partial", "PyTreeDef", "keystr", "register_dataclass", "treedef_tuple"} <= shared
    for name in shared:
        assert getattr(tree, name) is getattr(tree_util, name)
    assert tree_util.default_registry is tree.registry


def test_older_name_works_and_says_what_to_write() -> None:
    with pytest.warns(DeprecationWarning, match=r"write jxkernel\.tree\.map"):
        multimap = tree_util.tree_multimap
    assert multimap(lambda x, y: x + y, [1], [2]) == [3]
    with pytest.raises(AttributeError, match="no attribute 'tree_nothing'"):
        _ = tree_util.tree_nothing


def test_structure_pickled_in_one_process_is_read_in_another() -> None:
    code = (
        "import pickle, sys; from jxkernel import tree; "
        "treedef = pickle.loads(bytes.fromhex(sys.argv[1])); "
        "assert treedef == tree.structure({'a': [0, None]}), treedef"
    )
    pickled = pickle.dumps(tree.structure({"a": [1, None]})).hex()
    subprocess.run([sys.executable, "-c", code, pickled], check=True)
