"""An agent for the standalone service that asks before it acts, in Python without any package:

    AGENT=command COMMAND='python3 examples/command/approval.py' npm start

It ends while the question is open, and is started again with the answer, which may come days later.
"""

import json
import sys

query = json.loads(sys.stdin.readline())


def emit(type, data):
    print(json.dumps({"type": type, "data": data}), flush=True)


if not query["resumed"]:
    call = {"name": "refund", "arguments": {"customer": 881, "amount": 120}, "editable": True}
    # The next start gets this as the state.
    emit("checkpoint", call["arguments"])
    emit("message", {"content": "Let me see. "})
    request = {"id": "refund-881", "kind": "approval", "message": "Refund 120 EUR to customer 881?"}
    emit("input_required", {"requests": [{**request, **call}]})
    # EX_TEMPFAIL: start me again with the answer.
    sys.exit(75)

# The answers are the line after the query.
[answer] = json.loads(sys.stdin.readline())["data"]["answers"]
value = answer.get("value", {})
if not value.get("approved"):
    emit("message", {"content": "Nothing is refunded."})
else:
    amount = value.get("arguments", query["resumed"]["state"])["amount"]
    emit("message", {"content": f"{amount} EUR are refunded."})
