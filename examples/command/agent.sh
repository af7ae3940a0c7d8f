#!/bin/sh
# An agent for the standalone service, in plain shell:
#
#     AGENT=command COMMAND='sh examples/command/agent.sh' npm start
#
# Each line that is printed is a part of the answer. What goes to the standard error is for the operator's log.

# The query is one line of JSON.
query=$(cat)

echo "The query has ${#query} characters." >&2
echo "You asked at $(date -u +%Y-%m-%d), and the answer is:"
echo '{"type":"log","data":{"message":"A line of JSON may be any envelope"}}'
echo "42"
