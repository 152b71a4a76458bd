"""The routes of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from .._version import __version__
from .answers import Job, answers
from .bodies import asked_of_bulk
from .bulk import scored_arrow, scored_csv
from .counters import Metrics
from .documents import ARROW, CSV, Error, Health, ModelInfo, ModelList, Predictions, described, request_body
from .errors import RefusedError
from .gate import HEADERS, JSON, Gate, refuse
from .lanes import JobGroups, Lanes
from .limits import Limits
from .models import Models, Served, models_at
from .reference_page import reference_page

_SMALL = 4096  # bytes of a JSON body that is answered together with others
_LARGE = 1 << 18  # bytes of a body that has to wait until there is room for it
_EVERY = 1.0  # seconds between looks at the files
_PAGE = {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "charts.js": "text/javascript; charset=utf-8",
    "chart.umd.min.js": "text/javascript; charset=utf-8",
    "chart.LICENSE.md": "text/plain; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def create_app(
    path: str | Path, limits: Limits | None = None, token: str | None = None, hosts: set[str] | None = None
) -> Any:
    """Make the ASGI application that serves models.

    Parameters
    ----------
    path : path
        A model file, or a folder of such files. They are loaded again when they change. Or the URL of a model file in
        an object store, which is loaded once.
    limits : Limits, optional
        The most that a request may ask for.
    token : str, optional
        What requests must bring as a bearer token.
    hosts : set of str, optional
        The names of this server beside localhost; None allows any name.

    Returns
    -------
    ASGI application
        For uvicorn, or another ASGI server.

    Examples
    --------
    >>> from suffice import GaussianClassifier
    >>> GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"]).save("birds.safetensors")
    >>> app = create_app("birds.safetensors")
    """
    limits, metrics = limits or Limits(), Metrics()
    server = _Server(models_at(path), limits, metrics)
    app = FastAPI(
        title="suffice",
        version=__version__,
        description="Predictions of generative classifiers: the prior and the cost belong to the request.",
        docs_url=None,  # the pages of FastAPI load scripts from elsewhere; /docs is our own
        redoc_url=None,
        lifespan=server.lifespan,
        openapi_url=None,
        redirect_slashes=False,
    )
    server.add_routes(app, token is not None)
    app.add_exception_handler(HTTPException, _not_found)  # type: ignore[arg-type]
    return Gate(app, limits, metrics, token, hosts)


class _Server:
    """Answers requests."""

    def __init__(self, models: Models, limits: Limits, metrics: Metrics) -> None:
        self.models, self.limits, self.metrics = models, limits, metrics
        self.small = JobGroups[Job, Any](lambda jobs: answers(jobs, limits))
        self.bulk = Lanes(limits.bulk_requests)
        self._documents: tuple[Any, bytes] | None = None

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        watch = asyncio.create_task(self._watch())
        yield
        watch.cancel()
        self.small.close()
        self.bulk.close()

    async def _watch(self) -> None:
        while True:
            self.metrics.models.set(len(self.models.served))
            self.metrics.problems.set(len(self.models.problems))
            await asyncio.sleep(_EVERY)
            await asyncio.to_thread(self.models.refresh)

    # Routes.

    def add_routes(self, app: FastAPI, with_token: bool) -> None:
        """Add the routes, with what OpenAPI says of them."""
        refused = {code: {"model": Error, "description": why} for code, why in _REFUSALS.items()}
        predicts: dict[str, Any] = {
            "response_model": Predictions,
            "responses": {
                200: {"description": "Predictions, in the format of the request.", "content": {ARROW: {}, CSV: {}}},
                **refused,
            },
            "openapi_extra": {"requestBody": request_body(), "parameters": _QUERY},
            "description": "JSON for a few rows. For many, an Arrow IPC stream, whose answer is one with a row of "
            "results for each row; or CSV, whose answer repeats its columns. Prior, cost and outputs of these are "
            "parameters of the query, as JSON or as on the command line.",
        }
        seen = {code: refused[code] for code in ((401,) if with_token else ()) + (404, 421, 429)}
        tells: dict[str, Any] = {"responses": seen}
        app.post("/predict", summary="Predict with the only model", **predicts)(self.predict)
        app.post("/models/{name}/predict", summary="Predict with a model", **predicts)(self.predict_with)
        app.get("/model", response_model=ModelInfo, summary="The only model", **tells)(self.model)
        app.get("/models/{name}", response_model=ModelInfo, summary="A model", **tells)(self.model_of)
        app.get("/models", response_model=ModelList, summary="All models", **tells)(self.list_models)
        health: dict[int | str, Any] = {code: refused[code] for code in (421, 429)}
        app.get("/health", response_model=Health, summary="Whether the server works", responses=health)(self.health)
        app.get("/metrics", include_in_schema=False)(self.show_metrics)
        app.get("/openapi.json", include_in_schema=False)(self._openapi(app, with_token))
        app.get("/docs", include_in_schema=False)(self._reference(app, with_token))
        app.get("/", include_in_schema=False)(self.page)
        app.get("/page/{file}", include_in_schema=False)(self.page_file)

    async def predict(self, request: Request) -> Response:
        return await self._predict(request, self._only)

    async def predict_with(self, name: str, request: Request) -> Response:
        return await self._predict(request, lambda: self._named(name))

    async def _predict(self, request: Request, found: Callable[[], Served]) -> Response:
        headers, query = request.scope[HEADERS], request.scope["query_string"]
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
        late = 429, "other large requests took", "body"  # what to say if time is up
        try:
            served = found()
            if kind != JSON and kind not in _BULK:
                raise RefusedError(415, f"send {JSON}, {ARROW} or {CSV}", "Content-Type")
            if kind == JSON and query:
                raise RefusedError(422, "prior, cost and outputs of JSON requests belong into the body", "query")
            case = asked_of_bulk(request.query_params, served) if kind != JSON else None
            length = headers.get(b"content-length", b"")
            is_large = not length.isdigit() or int(length) > _LARGE
            async with asyncio.timeout(self.limits.seconds), self.bulk.room if is_large else nullcontext():
                late = 408, "the body took", "body"
                body = await self._body(request, headers, self.limits.json if kind == JSON else self.limits.body)
                late = 413, "send fewer rows at a time: they took", "rows"
                if kind == JSON:
                    answer = await self._answered(Job(body, served))
                else:
                    answer = await self.bulk.do(_BULK[kind], body, served, case, self.limits)
        except TimeoutError:
            status, what, field = late
            return _Refusal(RefusedError(status, f"{what} more than {self.limits.seconds:g} seconds", field))
        except RefusedError as error:
            return _Refusal(error)
        return Response(answer, media_type=kind)

    async def _answered(self, job: Job) -> Any:
        if len(job.body) <= _SMALL:
            found = await self.small.do(job)
        else:
            found = (await self.bulk.do(answers, [job], self.limits))[0]
        if isinstance(found, RefusedError):
            raise found
        return found

    async def _body(self, request: Request, headers: dict[bytes, bytes], most: int) -> bytes:
        """The body of a request. What is too long is read on for a while, since most clients read no answer before."""
        refused = RefusedError(413, f"the body has more than {most} bytes; send the rows in parts", "body")
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > self.limits.body:
            raise refused
        parts, size, more = [], 0, True
        while more:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise RefusedError(400, "the body is not whole", "body")
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > self.limits.body:
                raise refused
            if size <= most:
                parts.append(part)
        if size > most:
            raise refused
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def model(self) -> Response:
        return self._told(self._only)

    async def model_of(self, name: str) -> Response:
        return self._told(lambda: self._named(name))

    def _told(self, found: Callable[[], Served]) -> Response:
        try:
            return Response(found().info_json, media_type=JSON)
        except RefusedError as error:
            return _Refusal(error)

    async def list_models(self) -> Response:
        found = {"models": sorted(self.models.served), "problems": dict(self.models.problems)}
        return Response(to_json(found), media_type=JSON)

    async def health(self) -> Response:
        problems = dict(self.models.problems)
        found = {
            "status": "degraded" if problems else "ok",
            "models": len(self.models.served),
            "problems": problems,
            "version": __version__,
        }
        return Response(to_json(found), media_type=JSON)

    async def show_metrics(self) -> Response:
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def page(self) -> Response:
        return _file("index.html")

    async def page_file(self, file: str) -> Response:
        if file not in _PAGE:
            return _Refusal(RefusedError(404, "there is no such page"))
        return _file(file)

    def _only(self) -> Served:
        served = self.models.only
        if served is None:
            raise RefusedError(404, "there are several models, or none; use /models/{name}", "path")
        return served

    def _named(self, name: str) -> Served:
        if name not in self.models.served:
            raise RefusedError(404, "there is no such model; /models lists all", "name")
        return self.models.served[name]

    def _openapi(self, app: FastAPI, with_token: bool) -> Callable[[], Any]:
        async def openapi() -> Response:
            served = self.models.served
            if self._documents is None or self._documents[0] is not served:
                self._documents = served, to_json(described(app.openapi(), served, with_token))
            return Response(self._documents[1], media_type=JSON)

        return openapi

    def _reference(self, app: FastAPI, with_token: bool) -> Callable[[], Any]:
        async def reference() -> Response:
            public = {} if with_token else self.models.served  # anybody may see this page
            return Response(reference_page(described(app.openapi(), public, with_token)), media_type="text/html")

        return reference


_BULK = {ARROW: scored_arrow, CSV: scored_csv}
_REFUSALS = {
    400: "The body is not what its type says.",
    401: "The token is missing or wrong.",
    404: "There is no such model.",
    408: "The body took too long to arrive.",
    413: "The body, or the work that it asks for, is too large.",
    415: "The type of the body is not known.",
    421: "The request is for a host of another name.",
    422: "A field is wrong.",
    429: "There are too many requests at the same time.",
}
_QUERY = [
    {"name": name, "in": "query", "required": False, "schema": {"type": "string"}, "description": f"For bulk: {what}."}
    for name, what in (
        ("prior", "the prior, as JSON, or uniform, or as in a=0.7,b=0.3"),
        ("cost", "the cost, as JSON, or as in miss=5,false-alarm=1 for two classes"),
        ("outputs", "the results to return, separated by commas"),
    )
]


class _Refusal(Response):
    """The answer to a request that is refused."""

    def __init__(self, error: RefusedError) -> None:
        super().__init__()
        self.error, self.status_code = error, error.status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002
        await refuse(self.error, send)


async def _not_found(_: Request, error: HTTPException) -> Response:
    if error.status_code == 405:
        response = Response(
            to_json({"error": "this method is not known here", "field": "method"}), 405, media_type=JSON
        )
        response.headers.update(error.headers or {})
        return response
    return _Refusal(RefusedError(404, "there is nothing at this path; see /docs", "path"))


def _file(name: str) -> Response:
    content = resources.files("suffice.server").joinpath("page", name).read_bytes()
    return Response(content, media_type=_PAGE[name])
