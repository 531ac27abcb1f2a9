"""The natural calls of psycopg2: values are literals without a type.

    psycopg2_calls.py CONNINFO

Prints a line for each call.
"""
import json
import sys

import psycopg2
from psycopg2.extras import Json

connection = psycopg2.connect(sys.argv[1])
connection.autocommit = True
cursor = connection.cursor()


def show(value):
    """A value as the driver gives it; of JSON, the names or the length."""
    if isinstance(value, dict):
        return "{%s}" % " ".join(sorted(value))
    return "[%d]" % len(value) if isinstance(value, list) else str(value).lower()


def ask(name, sql, *values):
    cursor.execute(sql, values)
    print(name, *map(show, cursor.fetchone()))


student = {"studentUniqueId": "p2", "firstName": "Ada", "lastSurname": "King", "birthDate": "2014-02-03"}
upsert = "SELECT outcome FROM dms.upsert_document(%s, %s, %s)"
ask("upsert a string:", upsert, "ed-fi", "students", json.dumps(student))
ask("upsert Json:", upsert, "ed-fi", "students", Json(student))
ask("upsert by name:", "SELECT outcome FROM dms.upsert_document(project => %s, resource => %s, document => %s)",
    "ed-fi", "students", Json(student))
ask("resolve:", "SELECT dms.resolve(%s, %s, %s) IS NOT NULL", "ed-fi", "students", Json({"studentUniqueId": "p2"}))
ask("update:", "SELECT outcome FROM dms.update_document(dms.resolve('ed-fi', 'students', %s), %s)",
    '{"studentUniqueId": "p2"}', Json(student))
ask("update many:", "SELECT outcome FROM dms.update_documents(ARRAY[dms.resolve('ed-fi', 'students', %s)], %s::json[])",
    '{"studentUniqueId": "p2"}', [json.dumps(student)])
ask("query:", "SELECT dms.query_documents(%s, %s, %s) ->> 'firstName'", "ed-fi", "students", Json({"studentUniqueId": "p2"}))
ask("count:", "SELECT dms.count_documents(%s, %s, %s)", "ed-fi", "students", '{"studentUniqueId": "p2"}')
ask("handle_request:", "SELECT status, headers ->> 'ETag' FROM dms.handle_request(%s, %s, %s, %s)",
    "POST", "/ed-fi/students", Json({"If-Match": '"1"'}), json.dumps(student))
ask("process_request:", "CALL dms.process_request(%s, %s)", "GET", "/ed-fi/students?limit=0")
ask("process_request, not valid:", "CALL dms.process_request(%s, %s, %s, %s)",
    "POST", "/ed-fi/students", Json({"correlationid": "c"}), "{")
cursor.execute("CALL dms.process_request(%s, %s, %s, %s)", ("POST", "/ed-fi/students", Json({}), Json(student)))
print("columns:", *(column.name for column in cursor.description))
