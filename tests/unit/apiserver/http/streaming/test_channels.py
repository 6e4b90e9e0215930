"""Messages of the `channel.k8s.io` subprotocols."""

import pytest

from mockkube.apiserver.http.streaming import channels
from mockkube.apiserver.http.streaming.channels import (
    LEGACY_PROTOCOLS,
    V5_PROTOCOL,
    ChannelMessage,
    ProtocolViolation,
    choose_protocol,
    decode,
    encode,
    is_tunnel,
)

V4 = LEGACY_PROTOCOLS["v4.channel.k8s.io"]
V4_BASE64 = LEGACY_PROTOCOLS["v4.base64.channel.k8s.io"]


@pytest.mark.parametrize(
    ("requested", "chosen"),
    [
        pytest.param([], "", id="a client that names none"),
        pytest.param(["v4.channel.k8s.io", "channel.k8s.io"], "v4.channel.k8s.io", id="the client's order counts"),
        pytest.param(["v9.channel.k8s.io", "base64.channel.k8s.io"], "base64.channel.k8s.io", id="a newer client"),
        pytest.param(["v9.channel.k8s.io"], None, id="nothing in common"),
    ],
)
def test_the_first_supported_subprotocol_is_chosen(requested, chosen):
    found = choose_protocol(requested, LEGACY_PROTOCOLS)
    assert (None if found is None else found.name) == chosen


@pytest.mark.parametrize("protocol", [V4, V4_BASE64, V5_PROTOCOL])
@pytest.mark.parametrize("data", [b"", b"text\n", bytes(range(256))])
def test_what_is_encoded_is_decoded(protocol, data):
    assert decode(protocol, encode(protocol, channels.STDOUT, data)) == ChannelMessage(channels.STDOUT, data)


def test_base64_messages_are_text():
    assert encode(V4_BASE64, 1, b"foo\n") == b"1Zm9vCg=="
    assert decode(V4_BASE64, b"0Zm9vCg==") == ChannelMessage(0, b"foo\n")


@pytest.mark.parametrize("message", [b"", b"\x05data", b"\xffdata"])
def test_empty_messages_and_unknown_channels_are_ignored(message):
    assert decode(V4, message) is None


def test_bad_base64_is_ignored():
    assert decode(V4_BASE64, b"0not base64") is None


def test_only_v5_closes_a_channel():
    assert decode(V5_PROTOCOL, b"\xff\x00") == ChannelMessage(channels.STDIN, is_close=True)
    assert decode(V4, b"\xff\x00") is None


@pytest.mark.parametrize("message", [b"\xff", b"\xff\x00\x00", b"\xff\x05"])
def test_a_close_signal_names_one_channel(message):
    with pytest.raises(ProtocolViolation):
        decode(V5_PROTOCOL, message)


def test_tunnels_carry_spdy():
    assert is_tunnel("SPDY/3.1+portforward.k8s.io")
    assert not is_tunnel("v5.channel.k8s.io")
