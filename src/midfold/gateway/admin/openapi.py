"""The admin API as OpenAPI 3.1, made from its table of routes."""

from midfold.gateway.admin.answers import ANSWERS
from midfold.gateway.admin.routes import ADMIN_ROUTES, API, AdminRoute, QueryParameter
from midfold.summaries import MAX_NOTE_CHARS

_NO_NUL = "^[^\\u0000]*$"
_SAID = "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$"
"""at least one character that can be seen"""
_MOST_QUERY = 1_000_000
_TYPES: dict[str, dict[str, object]] = {
    "string": {"type": "string", "maxLength": 8000, "pattern": _NO_NUL},
    "note": {"type": "string", "maxLength": MAX_NOTE_CHARS, "pattern": _SAID},
    "integers": {
        "type": "array",
        "items": {"type": "integer", "minimum": 0, "maximum": 1_000_000_000},
        "minItems": 1,
        "maxItems": 500,
    },
}
_ERROR = {
    "description": "Why it was refused, in one line.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refused"}}},
}
_STATUSES = ("400", "401", "403", "404", "405", "408", "409", "413", "415", "500", "503")


def describe_api(version: str) -> dict[str, object]:
    """Return the description."""
    paths: dict[str, dict[str, object]] = {}
    for route in ADMIN_ROUTES:
        paths.setdefault(f"{API}{route.path}", {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "midfold gateway: admin API",
            "version": version,
            "description": "Read and correct what the gateway keeps. Changes need the token of /token.",
        },
        "paths": paths,
        "components": {
            "schemas": {
                "Refused": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {"error": {"type": "string"}},
                }
            },
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "x-midfold-key"},
                "token": {"type": "apiKey", "in": "header", "name": "x-midfold-token"},
            },
        },
    }


def _operation(route: AdminRoute) -> dict[str, object]:
    kind = "text/event-stream" if route.operation == "events" else "application/json"
    operation: dict[str, object] = {
        "operationId": route.operation,
        "summary": route.words,
        "parameters": [
            *(_path_parameter(name) for name in route.parts),
            *(
                {"name": each.name, "in": "query", "description": each.words, "schema": _schema(each)}
                for each in route.query
            ),
        ],
        # A gateway without keys asks for none.
        "security": [{"key": [], "token": []}, {"token": []}] if route.is_change else [{"key": []}, {}],
        "responses": {
            "200": {"description": "Done.", "content": {kind: {"schema": ANSWERS[route.operation]}}},
            **dict.fromkeys(_STATUSES, _ERROR),
        },
    }
    if route.body is not None:
        operation["requestBody"] = _body(route)
    return operation


def _schema(parameter: QueryParameter) -> dict[str, object]:
    if parameter.kind == "integer":
        return {"type": "integer", "minimum": parameter.least, "maximum": parameter.most}
    if parameter.choices:
        return {"type": "string", "enum": list(parameter.choices)}
    longest = {} if parameter.most > _MOST_QUERY else {"maxLength": parameter.most}
    return {"type": "string", "pattern": _NO_NUL, **longest}


def _path_parameter(name: str) -> dict[str, object]:
    schema: dict[str, object] = (
        {"type": "integer", "minimum": 0, "maximum": 1_000_000_000}
        if name == "number"
        else {"type": "string", "minLength": 1, "maxLength": 64}
    )
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _body(route: AdminRoute) -> dict[str, object]:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {
            name: _TYPES[kind] | ({"pattern": _SAID} if kind == "string" and name in route.needed else {})
            for name, kind in (route.body or {}).items()
        },
        "additionalProperties": False,
    }
    if route.needed:
        schema["required"] = list(route.needed)
    return {"required": True, "content": {"application/json": {"schema": schema}}}
