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
        psycopg2.extras.register_composite("dms.response", connection)
        return connection

    def call(self, *request):
        connection = self.free.get()
        try:
            if connection is None or connection.closed:
                connection = self.connect()
            with connection.cursor() as cursor:
                cursor.execute(CALL, request)
                return cursor.fetchone()[0]
        finally:
            self.free.put(connection)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pool = None

    def read_body(self):
        """The body as text; None if there is none, ValueError if it is no text."""
        length = int(self.headers.get("Content-Length") or 0)
        if length < 0 or length > MAX_BODY or "Transfer-Encoding" in self.headers:
            raise ValueError
        text = self.rfile.read(length).decode("utf-8")
        if "\0" in text:
            raise ValueError
        return text or None

    def refuse(self, status, reason):
        self.close_connection = True
        self.send(status, {"Content-Type": "text/plain"}, reason.encode())

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
        except ValueError:
            return self.refuse(400, "The body must be UTF-8 with a length of up to %d bytes.\n" % MAX_BODY)
        if "\0" in self.path:
            return self.refuse(400, "The path is not valid.\n")
        method = "GET" if self.command == "HEAD" else self.command
        try:
            response = self.pool.call(method, self.path, json.dumps(headers), body)
        except psycopg2.Error as error:
            self.log_error("%s %s: %s", self.command, self.path, error)
            return self.refuse(500, "Something is wrong; the server's log says what.\n")
        text = response.body if isinstance(response.body, (str, type(None))) else json.dumps(response.body)
        self.send(response.status, response.headers, (text or "").encode())

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
