"""The page at /docs: what the OpenAPI document says, for people to read. It needs no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

Schema = Mapping[str, Any]

_PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>suffice: requests</title>
  <link rel="icon" href="/page/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="/page/style.css">
</head>
<body>
  <header>
    <h1><span class="brand">suffice</span> requests</h1>
    <p class="quiet">
      For programs: <a href="/openapi.json">openapi.json</a>. To try a model: <a href="/">the page</a>.
    </p>
  </header>
  <div class="stack">
{sections}
  </div>
</body>
</html>
"""


def reference_page(document: Schema) -> str:
    """Return an HTML page about the requests in an OpenAPI document.

    Parameters
    ----------
    document : mapping
        The OpenAPI document.

    Returns
    -------
    str
        The page. Names of models, columns and classes are escaped.
    """
    schemas = document["components"]["schemas"]
    sections = [
        _section(method, path, operation, schemas)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    return _PAGE.format(sections="\n".join(sections))


def _section(method: str, path: str, operation: Schema, schemas: Schema) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    answer = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
    parts = [
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>",
        f"<p>{escape(operation['summary'])}. {escape(operation.get('description', ''))}</p>",
        _table("Parameters", ((one["name"], one["schema"], one) for one in operation.get("parameters", [])), schemas),
        _table("Body, as JSON", _fields(body.get("application/json", {}).get("schema", {}), schemas), schemas),
        _table("Answer, as JSON", _fields(answer, schemas), schemas),
        _statuses(operation["responses"]),
    ]
    return f'<section class="card">{"".join(parts)}</section>'


def _fields(schema: Schema, schemas: Schema) -> Iterable[tuple[str, Schema, Schema]]:
    own = _resolved(schema, schemas)
    return ((name, field, field) for name, field in own.get("properties", {}).items())


def _table(title: str, rows: Iterable[tuple[str, Schema, Schema]], schemas: Schema) -> str:
    lines = [
        f"<tr><th scope='row'><code>{escape(name)}</code></th><td>{escape(_type(schema, schemas))}</td>"
        f"<td>{escape(about.get('description', ''))}</td></tr>"
        for name, schema, about in rows
    ]
    return f'<h3>{title}</h3><div class="scroll"><table class="words">{"".join(lines)}</table></div>' if lines else ""


def _statuses(responses: Schema) -> str:
    lines = [f"<li><code>{code}</code> {escape(one['description'])}</li>" for code, one in responses.items()]
    return f"<details><summary>Status codes</summary><ul>{''.join(lines)}</ul></details>"


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    found: Schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def _type(schema: Schema, schemas: Schema) -> str:
    """The type of a field in words."""
    schema = _resolved(schema, schemas)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one, schemas) for one in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(repr(one) for one in schema["enum"])
    kind = str(schema.get("type", "any value"))
    if kind == "array":
        return f"list of {_type(schema.get('items', {}), schemas)}"
    if kind == "object" and "properties" in schema:
        return "object with " + ", ".join(schema["properties"])
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"object of {_type(inner, schemas)}" if isinstance(inner, dict) else "object"
    return kind
