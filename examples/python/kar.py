"""What the wire asks of a language, in Python's standard library alone.

An application is an HTTP server that answers its runtime, and a client of it:

    class Account(Actor):
        def deposit(self, amount):
            balance = self.state("balance", 0) + amount
            self.record({"balance": balance})
            return balance

    serve([Account])

Run it with `pawl run --app bank --actors Account -- python3 bank.py`. The page on
languages (docs/languages.md) explains each part of it.
"""

import http.client
import json
import os
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

JSON = "application/kar+json"


class KarError(Exception):
    """An error that a method has answered, or that the runtime has."""

    def __init__(self, message, stack="", status=200):
        super().__init__(message)
        self.stack = stack
        self.status = status


class TailCall:
    """Return one from a method: it ends, and the call begins, in one step.

    Without release, a tail call of an actor to itself keeps its lock.
    """

    def __init__(self, kind, id, method, *args, release=False):
        self.value = {"actorType": kind, "actorId": id, "path": "/" + method, "payload": json.dumps(args)}
        if release:
            self.value["releaseLock"] = "true"


class Actor:
    """An actor: a class with a constructor without parameters, whose public methods can be called.

    Its attributes live in memory only; what must outlive the process is state.
    """

    kind = None  # the name of its type; by default that of the class
    id = None
    session = None  # the invocation that runs now; nested calls pass it on
    _changes = None  # what it records with its outcome

    def activate(self):
        """Called before the first method."""

    def deactivate(self):
        """Called when the actor has been idle, or is removed."""

    def call(self, kind, id, method, *args):
        """Calls another actor, or this one again, and waits for the result."""
        return call(kind, id, method, *args, session=self.session)

    def tell(self, kind, id, method, *args):
        """Leaves a request behind; it is durable when this returns."""
        tell(kind, id, method, *args, session=self.session)

    def state(self, key, default=None, entry=None):
        """Reads a value of the actor's durable state, or an entry of a map in it."""
        path = f"{self._path()}/state/{segment(key)}"
        status, body = runtime("GET", path if entry is None else f"{path}/{segment(entry)}")
        return default if status == 404 else json.loads(body)

    def entries(self, key):
        """Reads a map of the state as a whole."""
        _, body = runtime("POST", f"{self._path()}/state/{segment(key)}", '{"op": "get"}')
        return json.loads(body)

    def set_state(self, key, value):
        """Writes one; it is durable when this returns."""
        runtime("PUT", f"{self._path()}/state/{segment(key)}", json.dumps(value))

    def record(self, values, maps=None):
        """Writes values, and entries of maps, in one step with the outcome of the method.

        Until then they are not there, for this method neither; and they never are if it
        fails, or is cut off.
        """
        self._changes["updates"].update(values)
        for name, entries in (maps or {}).items():
            self._changes["submapupdates"].setdefault(name, {}).update(entries)

    def _path(self):
        return f"/actor/{segment(type(self)._kind())}/{segment(self.id)}"

    @classmethod
    def _kind(cls):
        return cls.kind or cls.__name__


def segment(name):
    """Escapes a part of a path, slashes included."""
    return quote(name, safe="")


_local = threading.local()


def runtime(method, path, body=None, headers=None):
    """Sends a request to the runtime; one connection for each thread, kept."""
    for attempt in (1, 2):
        fresh = getattr(_local, "connection", None) is None
        if fresh:
            _local.connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["KAR_RUNTIME_PORT"]))
        try:
            _local.connection.request(
                method, "/kar/v1" + path, body.encode() if body is not None else None, {"Content-Type": JSON, **(headers or {})}
            )
            response = _local.connection.getresponse()
        except http.client.RemoteDisconnected:
            # An idle connection that the runtime has closed has taken no request.
            _local.connection = None
            if fresh or attempt == 2:
                raise
            continue
        except OSError:
            _local.connection = None
            raise
        text = response.read().decode()
        if response.status >= 400 and not (response.status == 404 and method == "GET"):
            raise KarError(text, status=response.status)
        return response.status, text


def _call_path(kind, id, method, session):
    path = f"/actor/{segment(kind)}/{segment(id)}/call/{segment(method)}"
    return path + (f"?session={quote(session)}" if session else "")


def call(kind, id, method, *args, session=None):
    """Calls a method of an actor and waits for its result. From a method, use Actor.call."""
    status, body = runtime("POST", _call_path(kind, id, method, session), json.dumps(args))
    if status == 204:
        return None
    answer = json.loads(body)
    if answer.get("error"):
        raise KarError(answer.get("message", ""), answer.get("stack", ""))
    return answer.get("value")


def tell(kind, id, method, *args, session=None):
    """Leaves a request for an actor; it is durable when this returns."""
    runtime("POST", _call_path(kind, id, method, session), json.dumps(args), {"Pragma": "async"})


class _Handler(BaseHTTPRequestHandler):
    """Answers the runtime: does it host a type, activate, invoke, deactivate."""

    protocol_version = "HTTP/1.1"  # keeps connections
    disable_nagle_algorithm = True
    kinds = {}
    actors = {}
    lock = threading.Lock()  # of actors; the runtime sees to it that methods do not run at once

    def do_HEAD(self):
        where = self._where()
        self._answer(200 if where and where[0] in self.kinds else 404)

    def do_GET(self):
        self._serve(self._activate)

    def do_POST(self):
        self._serve(self._invoke)

    def do_DELETE(self):
        self._serve(self._deactivate)

    def _where(self):
        """The parts of the path behind the prefix: type, id, method."""
        prefix = "/kar/impl/v1/actor/"
        path = urlsplit(self.path).path
        if not path.startswith(prefix):
            return None
        return [unquote(part) for part in path[len(prefix):].split("/")]

    def _session(self):
        return parse_qs(urlsplit(self.path).query).get("session", [None])[0]

    def _serve(self, act):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        where = self._where()
        if where is None or len(where) < 2:
            return self._text(404, f"no path {self.path}")
        if where[0] not in self.kinds:
            return self._text(404, f"no actor type {where[0]}")
        act(where, body)

    def _activate(self, where, _):
        key = tuple(where[:2])
        with self.lock:
            known = key in self.actors
        if known:
            return self._text(200, "existing instance")
        try:
            actor = self.kinds[key[0]]()
            actor.id, actor.session = key[1], self._session()
            actor.activate()
        except Exception as err:
            return self._text(400, str(err))
        with self.lock:
            self.actors[key] = actor
        self._text(201, "created")

    def _invoke(self, where, body):
        with self.lock:
            actor = self.actors.get(tuple(where[:2]))
        if actor is None or len(where) != 3:
            return self._text(404, f"no actor {'/'.join(where)}")
        name = where[2]
        method = getattr(actor, name, None)
        if name.startswith("_") or hasattr(Actor, name) or not callable(method):
            return self._text(404, f"no method {name} in actor type {where[0]}")
        outer = actor.session, actor._changes
        actor.session, actor._changes = self._session(), {"updates": {}, "submapupdates": {}}
        try:
            text = self._outcome(method(*json.loads(body or b"[]")), actor._changes)
        except Exception as err:  # an outcome like any other
            text = json.dumps({"error": True, "message": str(err), "stack": traceback.format_exc()})
        finally:
            actor.session, actor._changes = outer  # a call that came back has ended: the outer one goes on
        if text is None:
            return self._answer(204)
        self._answer(200, text, JSON)

    @staticmethod
    def _outcome(value, changes):
        """The body that says how a method has ended; None where there is nothing to say."""
        outcome = {"tailCall": True, "value": value.value} if isinstance(value, TailCall) else {"value": value}
        if any(changes.values()):
            outcome["state"] = changes
        elif value is None:
            return None
        return json.dumps(outcome)

    def _deactivate(self, where, _):
        with self.lock:
            actor = self.actors.pop(tuple(where[:2]), None)
        if actor is None:
            return self._text(404, f"no actor {'/'.join(where)}")
        actor.deactivate()
        self._text(200, "OK")

    def _text(self, status, text):
        self._answer(status, text, "text/plain; charset=utf-8")

    def _answer(self, status, text="", kind=None):
        body = text.encode()
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args):
        """The runtime logs."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def serve(kinds):
    """Answers the runtime until the process ends."""
    _Handler.kinds = {kind._kind(): kind for kind in kinds}
    port = int(os.environ["KAR_APP_PORT"])
    server = _Server(("127.0.0.1", port), _Handler)
    ready = {"pid": os.getpid(), "app": port, "runtime": int(os.environ["KAR_RUNTIME_PORT"])}
    print("ready " + json.dumps(ready), flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(130)
