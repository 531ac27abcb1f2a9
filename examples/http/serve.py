#!/usr/bin/env python3
"""Serves a dms store over HTTP.

    apt-get install python3-psycopg2
    examples/http/serve.py --port 8080 "dbname=postgres"

Each request becomes one CALL dms.process_request(...): method, path, headers and
body are passed as they were sent, except for secrets, and the status, headers and
body of the answer are sent as they are returned.  Everything else is in the
database.  --help lists more options.
"""
import argparse
import json
import queue
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg2
import psycopg2.extras

MAX_BODY = 16 * 1024 * 1024
# Not passed on: parameters of a statement that fails are in the server's log.
SECRETS = ("authorization", "cookie", "proxy-authorization")
CALL = """CALL dms.process_request(%s, %s, %s, %s)"""


class Pool:
    """A fixed number of connections; a request waits until one is free."""

    def __init__(self, conninfo, size):
        self.conninfo = conninfo
        self.free = queue.LifoQueue()
        for _ in range(size):
            self.free.put(None)

    def connect(self):
        connection = psycopg2.connect(self.conninfo)
        connection.autocommit = True    # the procedure has transactions of its own
        return connection

    def call(self, *request):
        connection = self.free.get()
        try:
            if connection is None or connection.closed:
                connection = self.connect()
            with connection.cursor() as cursor:
                cursor.execute(CALL, request)
                return cursor.fetchone()
        finally:
            self.free.put(connection)


class Refused(Exception):
    """A request that cannot be passed on; the text says why."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pool = None

    def read_body(self):
        """The body as text, None if there is none; raises Refused."""
        if "Transfer-Encoding" in self.headers:
            raise Refused(411, "Send the body in one piece, with Content-Length: chunks are not supported.")
        if self.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Refused(415, "Send the body as it is: %s is not supported." % self.headers["Content-Encoding"])
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()):
            raise Refused(400, "Content-Length must be a number.")
        if int(length) > MAX_BODY:
            raise Refused(413, "The body has %s bytes, and may have %d." % (length, MAX_BODY))
        try:
            text = self.rfile.read(int(length)).decode("utf-8")
        except UnicodeDecodeError as error:
            raise Refused(400, "The body is not UTF-8: byte %d is wrong." % error.start)
        if "\0" in text:
            raise Refused(400, "The body contains the character U+0000.")
        return text or None

    def refuse(self, status, reason):
        self.close_connection = True
        self.send(status, {"Content-Type": "text/plain"}, (reason + "\n").encode())

    def send(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(body)

    def answer(self):
        headers = {}
        for name, value in self.headers.items():
            if name.lower() not in SECRETS:
                headers.setdefault(name.lower(), []).append(value)
        try:
            body = self.read_body()
        except Refused as refused:
            return self.refuse(refused.status, str(refused))
        if "\0" in self.path:
            return self.refuse(400, "The path contains the character U+0000.")
        method = "GET" if self.command == "HEAD" else self.command
        try:
            status, headers, body = self.pool.call(method, self.path, json.dumps(headers), body)
        except psycopg2.Error as error:
            self.log_error("%s %s: %s", self.command, self.path, error)
            return self.refuse(500, "Something is wrong; the server's log says what.")
        self.send(status, headers, (body or "").encode())

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = answer

    def log_message(self, format, *args):
        if self.server.verbose:
            super().log_message(format, *args)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("conninfo", help="how to connect, such as dbname=postgres")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080, help="0: any that is free")
    parser.add_argument("--connections", type=int, default=10)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()

    # Bodies are passed on as the text that they are.
    psycopg2.extras.register_default_json(globally=True, loads=lambda text: text)
    Handler.pool = Pool(arguments.conninfo, arguments.connections)
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer((arguments.host, arguments.port), Handler)
    server.verbose = arguments.verbose
    print("http://%s:%d" % server.server_address[:2], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
