"""A client of Redis in a few lines, for connections by a socket or by TCP."""
import contextlib
import socket
from urllib.parse import parse_qs, urlsplit


class RedisError(Exception):
    """What Redis answers instead of a result."""


class Redis:
    """A connection.  Whatever goes wrong is an OSError or a RedisError, and the next call connects again."""

    def __init__(self, url, password=None, timeout=1.0):
        self.url, self.password, self.timeout = urlsplit(url), password, timeout
        if self.url.scheme not in ("redis", "unix"):
            raise SystemExit("the URL of Redis begins with redis:// or unix://; there is no TLS")
        if self.url.password is not None:
            raise SystemExit("a password belongs into REDIS_PASSWORD, not into the URL")
        self.socket = self.file = None

    def connect(self):
        url = self.url
        if url.scheme == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(self.timeout)
            self.socket.connect(url.path)
            database = parse_qs(url.query).get("db", ["0"])[0]
        else:
            self.socket = socket.create_connection((url.hostname, url.port or 6379), self.timeout)
            database = url.path.strip("/") or "0"
        self.file = self.socket.makefile("rb")
        if self.password is not None:
            self.send([["AUTH", *([url.username] if url.username else []), self.password]])
            self.receive()
        if database != "0":
            self.send([["SELECT", database]])
            self.receive()

    def close(self):
        with contextlib.suppress(OSError):
            if self.socket is not None:
                self.socket.close()
        self.socket = self.file = None

    def send(self, commands):
        parts = []
        for command in commands:
            words = [word if isinstance(word, bytes) else str(word).encode() for word in command]
            parts.append(b"*%d\r\n" % len(words))
            parts += [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]
        self.socket.sendall(b"".join(parts))

    def receive(self):
        """Read an answer: text, a number, a list, or None."""
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("Redis has closed the connection")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise RedisError(rest)
        if kind == b"+":
            return rest
        if kind not in b"$*:":
            raise RedisError("this is not Redis")
        number = int(rest)
        if kind == b":" or number < 0:
            return number if kind == b":" else None
        if kind == b"*":
            return [self.receive() for _ in range(number)]
        return self.file.read(number + 2)[:-2].decode()

    def pipeline(self, commands):
        """Send commands together, and return their results."""
        if not commands:
            return []
        try:
            if self.socket is None:
                self.connect()
            self.send(commands)
            return [self.receive() for _ in commands]
        except (OSError, RedisError):
            self.close()
            raise
        except ValueError:
            self.close()
            raise RedisError("this is not Redis") from None

    def ask(self, *command):
        return self.pipeline([command])[0]
