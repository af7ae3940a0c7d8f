"""A second implementation of the level core, in Python without any package:

    python3 examples/conformance/core_service.py 8000
    npx nest-agent-query-conformance http://127.0.0.1:8000 --level core

It has `POST /query` with texts, files and kwargs, and streams the envelopes of the agent in agent.py. It keeps nothing: no run
outlives its connection.
"""

import base64
import hashlib
import json
import select
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True  # The folder of the examples stays as it is.
from agent import Stopped, answer

MAX_BODY = 64 * 1024 * 1024


class Refused(Exception):
    def __init__(self, status, code, detail):
        self.status, self.code, self.detail = status, code, detail


def query_of(body):
    """The query in a body, with the digest and the size of each file."""
    try:
        query = json.loads(body.decode())
    except ValueError:
        raise Refused(400, "invalid_json", "The body is not JSON in UTF-8.") from None
    if not isinstance(query, dict) or not isinstance(query.get("parts"), list) or not query["parts"]:
        raise Refused(400, "invalid_query", '"/parts" must be an array with at least one part.')
    kwargs = query.get("kwargs")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise Refused(400, "invalid_query", '"/kwargs" must be an object.')
    parts = [part_of(part, f"/parts/{index}") for index, part in enumerate(query["parts"])]
    if parts[-1]["type"] != "text" and not any(part["type"] == "text" for part in parts):
        raise Refused(400, "invalid_query", "The agent needs a text: its script.")
    return {"parts": parts, "kwargs": kwargs or {}}


def part_of(part, pointer):
    fields = {"text": ["text"], "file": ["name", "mimeType", "base64"]}.get(
        part.get("type") if isinstance(part, dict) else None
    )
    if fields is None or not all(isinstance(part.get(field), str) for field in fields):
        raise Refused(400, "invalid_query", f'"{pointer}" must be a text or a file with all of its fields.')
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    try:
        content = base64.b64decode(part["base64"], validate=True)
    except ValueError:
        raise Refused(400, "invalid_query", f'"{pointer}/base64" is not base64.') from None
    described = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return {"type": "file", "name": part["name"], "mimeType": part["mimeType"], **described}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self):
        self.close_connection = True
        try:
            query = query_of(self.body())
        except Refused as refusal:
            return self.refuse(refusal)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache, no-transform")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for envelope in answer(query, self.has_left):
                self.chunk(f"data: {json.dumps(envelope)}\n\n".encode())
        except (Stopped, OSError):
            return  # The caller has left.
        except Exception as error:
            print(f"The agent failed: {error!r}", file=sys.stderr)
        self.chunk(b"")

    def body(self):
        if self.path != "/query":
            raise Refused(404, "not_found", "There is only POST /query.")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise Refused(411, "refused", "Send the body with its Content-Length.")
        if int(length) > MAX_BODY:
            raise Refused(413, "limit_exceeded", f"A body has at most {MAX_BODY} bytes.")
        if self.headers.get_content_type() != "application/json":
            raise Refused(415, "unsupported_media_type", "Send application/json.")
        return self.rfile.read(int(length))

    def refuse(self, refusal):
        members = {"type": "about:blank", "title": "Refused", "detail": refusal.detail, "code": refusal.code}
        body = json.dumps({**members, "status": refusal.status}).encode()
        self.send_response(refusal.status)
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def chunk(self, data):
        """One piece of the stream; the empty one is its end."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def has_left(self):
        is_readable = select.select([self.connection], [], [], 0)[0]
        return bool(is_readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def log_message(self, *_):
        """Requests are not logged."""


class Service(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    service = Service(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Handler)
    print(f"listens on http://127.0.0.1:{service.server_port}", flush=True)
    try:
        service.serve_forever()
    except KeyboardInterrupt:
        pass
