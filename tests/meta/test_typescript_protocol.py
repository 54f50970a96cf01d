"""The generated protocol file of the lab extension says what the Python types say."""

from tools.typescript_protocol import FILE, written


def test_the_protocol_file_is_as_the_types_are() -> None:
    assert FILE.read_text() == written(), (
        "run `make front`: a message, event or payload has changed"
    )
