# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a proxy lets through: the same with both engines, where nothing else is said."""

from __future__ import annotations

import contextlib
import socket

OPEN = {"allowed_sources": ["127.0.0.0/8"]}
LOOPBACK = {**OPEN, "allowed_destinations": ["127.0.0.0/8"], "connect_ports": ["1-65535"]}


def test_a_page_is_fetched_by_the_proxy_s_own_address(engine, provider, request_for, serving, client_of, origin):
    instance = serving(provider, request_for())
    status, seen = client_of(instance).get(origin.url)
    assert (status, seen["client"]) == (200, instance.address)
    assert instance.address != "127.0.0.1"


def test_a_tunnel_leaves_by_the_proxy_s_own_address(engine, provider, request_for, serving, client_of, origin):
    instance = serving(provider, request_for())
    status, seen = client_of(instance).tunnel(origin.address, origin.port)
    assert (status, seen["client"]) == (200, instance.address)


def test_each_proxy_has_an_address_of_its_own(engine, provider, request_for, serving, client_of, origin):
    instances = [serving(provider, request_for(key)) for key in ("a", "b")]
    seen = {client_of(instance).get(origin.url)[1]["client"] for instance in instances}
    assert seen == {instance.address for instance in instances}
    assert len(seen) == 2


def test_credentials_are_asked_for(engine, provider, request_for, serving, client_of, origin):
    instance = serving(provider, request_for())
    for user in (None, ("crawler", "wrong"), ("nobody", "secret"), ("Crawler", "secret"), ("crawler", "")):
        client = client_of(instance, user=user)
        assert client.get(origin.url)[0] == 407, user
        assert client.tunnel(origin.address, origin.port)[0] == 407, user


def test_right_credentials_stay_right_and_wrong_ones_wrong(engine, provider, request_for, serving, client_of, origin):
    instance = serving(provider, request_for())
    right, wrong = client_of(instance), client_of(instance, user=("crawler", "wrong"))
    assert [client.get(origin.url)[0] for client in (right, wrong, right, wrong)] == [200, 407, 200, 407]


def test_a_proxy_shows_neither_itself_nor_its_client(engine, provider, request_for, serving, client_of, origin):
    client = client_of(serving(provider, request_for()))
    given = {"Via": "1.1 mine", "X_Forwarded_For": "192.0.2.1", "Forwarded": "for=192.0.2.1", "X_Kept": "yes"}
    _status, seen = client.get(origin.url, **given, Proxy_Connection="keep-alive")
    hidden = {"via", "x-forwarded-for", "forwarded", "proxy-authorization", "proxy-connection", "cache-control"}
    assert not hidden & set(seen["headers"])
    assert seen["headers"]["x-kept"] == "yes"
    assert "proxy" not in str(seen["headers"]).lower()


def test_a_body_arrives(engine, provider, request_for, serving, client_of, origin):
    client = client_of(serving(provider, request_for()))
    _status, seen = client.get(origin.url, method="POST", body="x" * 100_000)
    assert (seen["method"], len(seen["body"])) == ("POST", 100_000)


def test_the_url_decides_not_the_host_header(engine, provider, request_for, serving, client_of, origin):
    client = client_of(serving(provider, request_for()))
    _status, seen = client.get(origin.url, Host="elsewhere.example")
    assert seen["headers"]["host"] == f"{origin.address}:{origin.port}"


def test_loopback_is_refused_by_default(engine, provider, request_for, serving, client_of, origin):
    client = client_of(serving(provider, request_for(squid={**OPEN, "connect_ports": ["1-65535"]})), user=None)
    for host in ("127.0.0.1", "localhost", "0.0.0.0", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]"):
        assert client.get(f"http://{host}:{origin.port}/") == (403, None), host
        assert client.tunnel(host.strip("[]"), origin.port)[0] in (403, 400), host


def test_metadata_and_private_networks_are_refused(engine, provider, request_for, serving, client_of):
    client = client_of(serving(provider, request_for(squid=LOOPBACK)), user=None)
    for host in ("169.254.169.254", "10.0.0.1", "192.168.1.1", "[fd00:ec2::254]", "[fe80::1]", "[64:ff9b::a9fe:a9fe]"):
        assert client.get(f"http://{host}/latest/meta-data/") == (403, None), host


def test_an_allowed_network_is_no_more_than_that(engine, provider, request_for, serving, client_of, origin):
    squid = {**OPEN, "allowed_destinations": ["127.0.0.2"]}
    client = client_of(serving(provider, request_for(squid=squid)), user=None)
    assert client.get(origin.url)[0] == 403


def test_a_denied_network_is_refused_though_allowed(engine, provider, request_for, serving, client_of, origin):
    squid = {**LOOPBACK, "denied_destinations": ["127.0.0.0/24"]}
    client = client_of(serving(provider, request_for(squid=squid)), user=None)
    assert client.get(origin.url)[0] == 403
    assert client.get(f"http://localhost:{origin.port}/")[0] == 403
    assert client.tunnel(origin.address, origin.port)[0] == 403


def test_domains_are_allowed_and_denied(engine, provider, request_for, serving, client_of, origin):
    squid = {**OPEN, "allowed_destinations": ["localhost"]}
    client = client_of(serving(provider, request_for(squid=squid)), user=None)
    assert client.get(f"http://LOCALHOST:{origin.port}/")[0] == 200
    assert client.get(origin.url)[0] == 403
    squid = {**LOOPBACK, "denied_destinations": [".localhost"]}
    client = client_of(serving(provider, request_for("b", squid=squid)), user=None)
    assert client.get(f"http://localhost:{origin.port}/")[0] == 403
    assert client.get(origin.url)[0] == 200


def test_sources_are_checked(engine, provider, request_for, serving, client_of, origin):
    squid = {**LOOPBACK, "allowed_sources": ["127.99.0.0/16"]}
    client = client_of(serving(provider, request_for(squid=squid)), user=None)
    assert client.get(origin.url)[0] == 403
    assert client.tunnel(origin.address, origin.port)[0] == 403


def test_tunnels_go_to_the_ports_given(engine, provider, request_for, serving, client_of, origin):
    squid = {**OPEN, "allowed_destinations": ["127.0.0.0/8"]}
    client = client_of(serving(provider, request_for(squid=squid)), user=None)
    assert client.tunnel(origin.address, origin.port)[0] == 403  # 443 is the default
    assert client.get(origin.url)[0] == 200


def test_other_protocols_and_their_ports_are_refused(engine, provider, request_for, serving, client_of):
    client = client_of(serving(provider, request_for(squid=LOOPBACK)), user=None)
    for url in ("http://127.0.0.1:25/", "ftp://127.0.0.1/", "https://127.0.0.1:22/", "https://127.0.0.1:22/"):
        assert client.get(url)[0] in (400, 403), url


def test_a_dead_destination_is_an_answer(engine, provider, request_for, serving, client_of):
    client = client_of(serving(provider, request_for(squid=LOOPBACK)), user=None)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # without listening
        assert client.get(f"http://127.0.0.1:{unused.getsockname()[1]}/")[0] == 503


def test_many_clients_at_once(engine, provider, request_for, serving, client_of, origin):
    instance = serving(provider, request_for(squid=LOOPBACK))
    with socket.create_connection((instance.address, 3128)):  # one that says nothing keeps nobody waiting
        client = client_of(instance, user=None)
        assert [client.get(origin.url)[0] for _unused in range(20)] == [200] * 20


def test_a_kept_connection_serves_only_the_server_it_was_checked_for(engine, provider, request_for, serving, origin):
    instance = serving(provider, request_for(squid=LOOPBACK))
    with socket.create_connection((instance.address, 3128), timeout=30) as connection:
        connection.sendall(f"GET {origin.url} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"}"):
            piece = connection.recv(65536)
            assert piece, answer
            answer += piece
        second = b""
        with contextlib.suppress(ConnectionError):  # proxy.py closes, Squid looks at it
            connection.sendall(b"GET http://10.0.0.1/second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while piece := connection.recv(65536):
                second += piece
    assert second == b"" if engine == "proxy.py" else second.startswith(b"HTTP/1.1 403")


def test_garbage_does_not_end_it(engine, provider, request_for, serving, client_of, origin):
    instance = serving(provider, request_for(squid=LOOPBACK))
    for garbage in (b"\0" * 100, b"GET / HTTP/1.1\r\n\r\n", b"CONNECT x\r\n\r\n", b"GET http://[::1/ HTTP/1.1\r\n\r\n"):
        with socket.create_connection((instance.address, 3128), timeout=30) as connection:
            connection.sendall(garbage)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
    assert client_of(instance, user=None).get(origin.url)[0] == 200
