"""The natural calls of psycopg 3: strings have no type, Json and Jsonb have.

    psycopg3_calls.py CONNINFO text|binary

Prints a line for each call.  Results are text or binary.  Statements are not
prepared by name: a pooler need not support that.
"""
import json
import sys

import psycopg
from psycopg.types.json import Json, Jsonb

connection = psycopg.connect(sys.argv[1], autocommit=True, prepare_threshold=None)
binary = sys.argv[2] == "binary"
cursor = connection.cursor(binary=binary)
unique = "p3" + sys.argv[2]


def show(value):
    """A value as the driver gives it; of JSON, the names or the length."""
    if isinstance(value, dict):
        return "{%s}" % " ".join(sorted(value))
    return "[%d]" % len(value) if isinstance(value, list) else str(value).lower()


def ask(name, sql, *values):
    cursor.execute(sql, values)
    print(name, *map(show, cursor.fetchone()))


student = {"studentUniqueId": unique, "firstName": "Ada", "lastSurname": "King", "birthDate": "2014-02-03"}
key = {"studentUniqueId": unique}
for name, kind in (("a string", json.dumps), ("Json", Json), ("Jsonb", Jsonb)):
    ask("upsert %s:" % name, "SELECT outcome FROM dms.upsert_document(%s, %s, %s)", "ed-fi", "students", kind(student))
    ask("resolve %s:" % name, "SELECT dms.resolve(%s, %s, %s) IS NOT NULL", "ed-fi", "students", kind(key))
    ask("update %s:" % name, "SELECT outcome FROM dms.update_document(dms.resolve('ed-fi', 'students', %s), %s)",
        kind(key), kind(student))
    ask("query %s:" % name, "SELECT dms.query_documents(%s, %s, %s) ->> 'firstName'", "ed-fi", "students", kind(key))
    ask("count %s:" % name, "SELECT dms.count_documents(%s, %s, %s)", "ed-fi", "students", kind(key))
    ask("handle_request %s:" % name, "SELECT status, headers FROM dms.handle_request(%s, %s, %s, %s)",
        "POST", "/ed-fi/students", kind({"If-Match": '"2"', "correlationid": "c"}), json.dumps(student))
    ask("process_request %s:" % name, "CALL dms.process_request(%s, %s, %s, %s)",
        "POST", "/ed-fi/students", kind({"correlationid": "c"}), "{")
    ask("process_request, both %s:" % name, "CALL dms.process_request(%s, %s, %s, %s)",
        "POST", "/ed-fi/nothing", kind({"correlationid": "c"}), kind(student))
ask("update many:", "SELECT outcome FROM dms.update_documents(ARRAY[dms.resolve('ed-fi', 'students', %s)], %s::json[])",
    json.dumps(key), [json.dumps(student)])
ask("process_request:", "CALL dms.process_request(%s, %s)", "GET", "/ed-fi/students?limit=0")
print("columns:", *(column.name for column in cursor.description))
if len(sys.argv) > 3:
    # A statement that is prepared by its name.
    connection.prepare_threshold = 0
    for _ in range(3):
        ask("prepared:", "SELECT outcome FROM dms.upsert_document(%s, %s, %s)", "ed-fi", "students", json.dumps(student))
