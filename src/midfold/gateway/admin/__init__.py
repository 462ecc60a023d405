"""The people's side of the gateway: dashboard, admin API, health and metrics."""

from midfold.gateway.admin.app import AdminApp, AdminParts, PeopleRequest
from midfold.gateway.admin.changes import AdminWriter
from midfold.gateway.admin.openapi import describe_api
from midfold.gateway.admin.reading import AdminReader
from midfold.gateway.admin.requests import AdminRefusal
from midfold.gateway.admin.routes import ADMIN_ROUTES, AdminRoute

__all__ = [
    "ADMIN_ROUTES",
    "AdminApp",
    "AdminParts",
    "AdminReader",
    "AdminRefusal",
    "AdminRoute",
    "AdminWriter",
    "PeopleRequest",
    "describe_api",
]
