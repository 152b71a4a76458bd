"""Files are there whole, or not at all."""

import pytest

from suffice.atomic import replacing


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
