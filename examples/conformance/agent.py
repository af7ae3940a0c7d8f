"""An agent that follows scripts, for nest-agent-query-conformance, in Python without any package:

    AGENT=command COMMAND='python3 examples/conformance/agent.py' COMMAND_KEEP_INPUT=true npm start

Marks are files, so that all programs on a machine share them: each has one byte for each time it was set.
"""

import hashlib
import json
import os
import select
import signal
import sys
import tempfile
import time

MARKS = os.environ.get("CONFORMANCE_MARKS") or os.path.join(tempfile.gettempdir(), "nest-agent-query-conformance")


class Stopped(BaseException):
    """The run was cancelled."""


def path_of(mark):
    os.makedirs(MARKS, exist_ok=True)
    return os.path.join(MARKS, hashlib.sha256(mark.encode()).hexdigest())


def set_mark(mark):
    with open(path_of(mark), "ab") as file:
        file.write(b"1")


def count(mark):
    path = path_of(mark)
    return os.path.getsize(path) if os.path.exists(path) else 0


def message(content):
    return {"type": "message", "data": {"content": content}}


def script_of(query):
    """The last text of the query."""
    texts = [part["text"] for part in query["parts"] if part["type"] == "text"]
    return json.loads(texts[-1])


def received(query):
    """What the agent was given, without the contents of files."""
    members = ("type", "text", "name", "mimeType", "size", "sha256")
    parts = [{name: part[name] for name in members if name in part} for part in query["parts"]]
    return {"parts": parts, "kwargs": query["kwargs"]}


def answers(query):
    """The texts of the answers of the earlier turns."""
    return [turn["text"] for turn in (query.get("session") or {"turns": []})["turns"]]


def resolved(check):
    """The next line of the input: how what was asked was answered."""
    while not select.select([sys.stdin], [], [], 0.01)[0]:
        check()
    members = ("id", "outcome", "value")
    answers = json.loads(sys.stdin.readline())["data"]["answers"]
    return [{name: each[name] for name in members if name in each} for each in answers]


def answer(query, is_stopped=lambda: False):
    """The envelopes of the answer, one after another."""
    when_stopped = []

    def check():
        if is_stopped():
            raise Stopped

    def pause():
        check()
        time.sleep(0.01)

    try:
        for step in script_of(query):
            check()
            if "emit" in step:
                for _ in range(step.get("times", 1)):
                    yield step["emit"]
            elif "file" in step:
                yield {"type": "file", "data": step["file"]}
            elif "report" in step:
                report = answers(query) if step["report"] == "history" else received(query)
                yield message(json.dumps(report))
            elif "count" in step:
                yield message(json.dumps(count(step["count"])))
            elif "mark" in step:
                set_mark(step["mark"])
            elif "markWhenStopped" in step:
                when_stopped.append(step["markWhenStopped"])
            elif "wait" in step:
                while count(step["wait"]) == 0:
                    pause()
            elif "ask" in step:
                yield {"type": "input_required", "data": {"requests": step["ask"]}}
                yield message(json.dumps(resolved(check)))
            elif "fail" in step:
                raise RuntimeError(step["fail"])
            elif "hang" in step:
                while True:
                    pause()
            else:
                raise ValueError(f"There is no step {step}.")
    except Stopped:
        for mark in when_stopped:
            set_mark(mark)
        raise


def main():
    signals = []
    # An exception here could be raised anywhere, also while an envelope is being written.
    signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    try:
        for envelope in answer(json.loads(sys.stdin.readline()), lambda: bool(signals)):
            print(json.dumps(envelope), flush=True)
    except Stopped:
        sys.exit(1)


if __name__ == "__main__":
    main()
