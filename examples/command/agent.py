"""An agent for the standalone service, in Python without any package:

    AGENT=command COMMAND='python3 examples/command/agent.py' npm start

It repeats the words of each text one by one, and counts the bytes of each file.
"""

import json
import sys
import time

# The query is one line of JSON.
query = json.loads(sys.stdin.readline())


def emit(type, data):
    # Without `flush`, Python keeps what it prints until it has 8 KiB.
    print(json.dumps({"type": type, "data": data}), flush=True)


if query["session"] and query["session"]["turns"]:
    emit("log", {"message": f"Question {len(query['session']['turns']) + 1} of this conversation"})

for part in query["parts"]:
    if part["type"] == "file":
        with open(part["path"], "rb") as file:
            emit("log", {"message": f"{part['name']}: {len(file.read())} bytes, {part['mimeType']}"})
        continue
    for word in part["text"].split():
        time.sleep(query["kwargs"].get("pauseMs", 200) / 1000)
        emit("message", {"content": word.upper() + " "})
