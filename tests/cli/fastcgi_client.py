"""fastcgi_client.py SOCKET SCRIPT METHOD URI [PAUSE [NAME=VALUE ...]]: sends one request after the
other to a FastCGI server on a Unix socket, with the parameters that nginx sends, until it is ended.

Behind a front controller SCRIPT_NAME is /index.php for all routes, and REQUEST_URI is what the
client of the web server has asked for. NAME=VALUE are more parameters; a header of that client is
HTTP_NAME. An answer without success ends this program."""

import socket
import struct
import sys
import time

BEGIN_REQUEST, END_REQUEST, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6


def record(kind, content=b""):
    return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def pair(name, value):
    """Lengths of 128 bytes or more are never sent here."""
    return bytes([len(name), len(value)]) + name.encode() + value.encode()


def request(script, method, uri, more):
    path, _, query = uri.partition("?")
    params = {
        "QUERY_STRING": query, "REQUEST_METHOD": method, "CONTENT_TYPE": "", "CONTENT_LENGTH": "",
        "SCRIPT_NAME": "/index.php", "REQUEST_URI": uri, "DOCUMENT_URI": "/index.php", "DOCUMENT_ROOT": "/srv",
        "SERVER_PROTOCOL": "HTTP/1.1", "REQUEST_SCHEME": "http", "GATEWAY_INTERFACE": "CGI/1.1",
        "SERVER_SOFTWARE": "nginx/1.22.1", "REMOTE_ADDR": "127.0.0.1", "REMOTE_PORT": "40000",
        "SERVER_ADDR": "127.0.0.1", "SERVER_PORT": "80", "SERVER_NAME": "shop.example", "REDIRECT_STATUS": "200",
        "SCRIPT_FILENAME": script, "PATH_INFO": path, "HTTP_HOST": "shop.example", "HTTP_USER_AGENT": "test", **more}
    content = b"".join(pair(name, value) for name, value in params.items())
    return (record(BEGIN_REQUEST, struct.pack(">HB5x", 1, 0)) + record(PARAMS, content) + record(PARAMS) + record(STDIN))


def ask(server, message):
    """Returns what the script has written."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server)
        connection.sendall(message)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    output = b""
    while answer:
        _, kind, _, length, padding, _ = struct.unpack(">BBHHBB", answer[:8])
        if kind == STDOUT:
            output += answer[8:8 + length]
        answer = answer[8 + length + padding:]
    return output


def main():
    server, script, method, uri, *rest = sys.argv[1:]
    pause = float(rest[0]) if rest else 0
    message = request(script, method, uri, dict(each.split("=", 1) for each in rest[1:]))
    while True:
        output = ask(server, message)
        if not output or output.startswith(b"Status:"):
            sys.exit(f"{uri}: {output!r}")
        time.sleep(pause)


main()
