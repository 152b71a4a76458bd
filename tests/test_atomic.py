"""Files are there whole, or not at all."""

import pytest

from suffice.atomic import claimed, replacing


def test_the_file_changes_at_the_end(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.name.startswith(".a.")  # directories are read without such files
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_places_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no directory"), replacing(tmp_path / "no" / "a"):
        pass
    with pytest.raises(IsADirectoryError, match="is a directory; name a file"), replacing(tmp_path):
        pass


def test_a_claim_is_refused_to_others_until_it_ends(tmp_path):
    path = tmp_path / "a"
    with claimed(path):
        with pytest.raises(BlockingIOError), claimed(path):
            pass
        with claimed(tmp_path / "b"):
            pass
    with claimed(path):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_claim_ends_with_a_failure(tmp_path, error):
    with pytest.raises(error), claimed(tmp_path / "a"):
        raise error
    with claimed(tmp_path / "a"):
        pass


def test_a_claim_removes_what_a_killed_run_left(tmp_path):
    names = {".a.0123456789abcdef", ".a.lock", ".a.0123", ".ab.0123456789abcdef", "a", "a.0123456789abcdef"}
    for name in names:
        (tmp_path / name).touch()
    with claimed(tmp_path / "a"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == names - {".a.0123456789abcdef", ".a.lock"}
