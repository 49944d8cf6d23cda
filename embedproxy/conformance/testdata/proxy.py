"""A browser proxy in Python's standard library, written from section 4.12 of the contract alone.

    UPSTREAM=http://127.0.0.1:9090/api/public/v1 API_KEY=svc_live.ID.SECRET SESSION=... python3 proxy.py

It prints its URL. A browser's session is the cookie "session" with the value of SESSION.
"""
import datetime, hmac, http.client, http.cookies, http.server, json, os, re, urllib.parse, uuid

UPSTREAM, KEY = urllib.parse.urlsplit(os.environ["UPSTREAM"]), os.environ["API_KEY"]
MAX_REQUEST, MAX_RESPONSE, TIMEOUT = 64 << 10, 2 << 20, 5


class Refused(Exception):  # of the browser's request: status, code, message
    pass


class Invalid(Exception):  # an upstream body
    pass


def need(holds, error=Invalid):
    if not holds:
        raise error()


def unique(pairs):
    need(len({name for name, _ in pairs}) == len(pairs), ValueError)
    return dict(pairs)


def no_constant(_):
    raise ValueError


def parse(raw):
    return json.loads(raw.decode("utf-8"), object_pairs_hook=unique, parse_constant=no_constant)


# A schema is called with a value: it raises Invalid, or returns what may go on. HIDE checks a member and drops it.
def text(pattern=".*", longest=10_000):
    form = re.compile(pattern, re.DOTALL)
    return lambda v: v if type(v) is str and len(v) <= longest and form.fullmatch(v) else need(False)


def whole(least, most):
    return lambda v: v if type(v) is int and least <= v <= most else need(False)


def maybe(schema):
    return lambda v: None if v is None else schema(v)


def array(schema, least, most):
    return lambda v: [schema(e) for e in v] if type(v) is list and least <= len(v) <= most else need(False)


HIDE = lambda schema: (schema,)


def record(_optional=(), **members):
    def check(v):
        need(type(v) is dict and set(members) - set(_optional) <= set(v) <= set(members))
        kept = {}
        for name, value in v.items():
            hidden = type(members[name]) is tuple
            seen = (members[name][0] if hidden else members[name])(value)
            if not hidden:
                kept[name] = seen
        return kept
    return check


def timestamp(v):
    need(type(v) is str and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", v))
    try:
        datetime.datetime.fromisoformat(v.replace("Z", "+00:00"))
    except ValueError:
        raise Invalid()
    return v


def https(v):
    need(type(v) is str)
    try:
        url = urllib.parse.urlsplit(v)
        need(url.scheme == "https" and url.hostname and "@" not in url.netloc and "#" not in v)
    except ValueError:
        raise Invalid()
    return v


UUID = text(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}")
SAFE = text(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
CURSOR = text(r"[A-Za-z0-9_-]{1,512}")
ANY, TIER = text(), text(".{1,60}")
MONEY = record(amount=text(r"(0|[1-9][0-9]{0,14})\.[0-9]{2}"), currency=text("NGN"))
EVENT = record(
    id=UUID, object=text("event"), title=ANY, description=maybe(ANY), status=text("DRAFT|PUBLISHED|ENDED|CANCELLED"),
    schedule=record(date=maybe(ANY), startsAt=maybe(ANY), endsAt=maybe(ANY), timezone=maybe(ANY)),
    location=record(name=maybe(ANY), venue=maybe(ANY)), imageUrl=https, organizerName=maybe(ANY),
    category=maybe(record(id=UUID, name=ANY, slug=ANY)), ticketCategories=array(ANY, 0, 50), createdAt=HIDE(timestamp),
    updatedAt=HIDE(timestamp))
TIERS = array(record(
    object=text("inventory_tier"), tier=TIER, status=text("AVAILABLE|PAUSED|SOLD_OUT|CANCELLED"),
    availableQuantity=whole(0, 10**6), totalAdmissions=whole(0, 10**6), unitPrice=maybe(MONEY)), 0, 50)
QUOTE = record(
    object=text("pricing_quote"), eventId=UUID, currency=text("NGN"), total=MONEY, quotedAt=timestamp,
    lines=array(record(tier=TIER, quantity=whole(1, 50), unitPrice=MONEY, subtotal=MONEY, availableAtPrice=whole(1, 10**6)), 1, 50))
ORDER = record(
    id=UUID, object=text("order"), eventId=UUID, status=text("CONFIRMED|CANCELLED|REFUNDED"), gross=MONEY,
    floatDebited=HIDE(MONEY), createdAt=HIDE(timestamp), confirmedAt=timestamp,
    commission=HIDE(record(amount=MONEY, rate=record(id=UUID, value=ANY, unit=text("BASIS_POINTS|PERCENT|FRACTION")))),
    balances=HIDE(record(floatBefore=MONEY, floatAfter=MONEY, earningsBefore=MONEY, earningsAfter=MONEY)),
    buyer=HIDE(record(email=ANY, fullname=maybe(ANY), phone=maybe(ANY))),
    branding=record(
        brandName=ANY, logoUrl=maybe(https), primaryColor=ANY, accentColor=ANY, checkoutFooter=maybe(ANY),
        ticketFooter=HIDE(maybe(ANY)), emailFooter=HIDE(maybe(ANY)), supportEmail=HIDE(maybe(ANY)),
        emailMode=HIDE(text("SERVICE_SENDER"))),
    lines=array(record(id=UUID, admissionId=UUID, title=ANY, tier=TIER, unitPrice=MONEY), 1, 50))
META = record(requestId=SAFE)
PAGED = record(requestId=SAFE, page=record(
    hasMore=lambda v: v if type(v) is bool else need(False), nextCursor=maybe(CURSOR)))
ERROR = record(error=record(("details",), code=text(r"[A-Z][A-Z0-9_]{0,99}"), message=text(".{1,2000}"),
                            details=HIDE(lambda v: v)), meta=META)

LINE = dict(tier=TIER, quantity=whole(1, 50))
PRICE = text(r"(0|[1-9][0-9]{0,11})(\.[0-9]{1,2})?")
PAYLOADS = {
    "events.list": record(("limit", "cursor"), limit=whole(1, 100), cursor=CURSOR),
    "events.inventory": record(eventId=UUID),
    "pricing.quote": record(eventId=UUID, lines=array(record(**LINE), 1, 50)),
    "checkout.create": record(
        eventId=UUID, idempotencyKey=text(r"[A-Za-z0-9][A-Za-z0-9._:-]{7,127}"),
        lines=array(record(**LINE, expectedUnitPrice=PRICE, currency=text("NGN")), 1, 50),
        buyer=record(("fullname", "phone"), email=text(".+", 320), fullname=text(longest=200), phone=text(longest=50))),
}


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.id = self.headers.get("X-Request-Id", "")
        self.id = self.id if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", self.id) else str(uuid.uuid4())
        try:
            self.answer(*self.operate())
        except Refused as refused:
            status, code, message = refused.args
            self.answer(status, {"error": {"code": code, "message": message}, "meta": {"requestId": self.id}})
        except (Invalid, ValueError, OSError, http.client.HTTPException, RecursionError):
            self.answer(502, {"error": {"code": "INVALID_UPSTREAM_RESPONSE", "message": "The service is not available."},
                              "meta": {"requestId": str(uuid.uuid4())}})

    def answer(self, status, body, retry_after=None):
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in [("Content-Type", "application/json"), ("Content-Length", len(raw)),
                            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
                            *([("Retry-After", retry_after)] if retry_after else [])]:
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(raw)

    def read(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_REQUEST:
            self.close_connection = True
            raise Refused(413, "INVALID_REQUEST", "The body must have at most 64 KiB.")
        return self.rfile.read(int(length))

    def operate(self):
        raw = self.read()
        cookie = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get("session")
        if not cookie or not hmac.compare_digest(cookie.value.encode(), os.environ["SESSION"].encode()):
            raise Refused(401, "AUTHENTICATION_FAILED", "Sign in first.")
        origin = self.headers.get("Origin")
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin" or (
                origin and urllib.parse.urlsplit(origin).netloc != self.headers.get("Host")):
            raise Refused(403, "PERMISSION_DENIED", "Another site cannot do this.")
        if self.headers.get_content_type() != "application/json" or "Content-Type" not in self.headers:
            raise Refused(415, "INVALID_REQUEST", "The Content-Type must be application/json.")
        try:
            body = parse(raw)
            need(type(body) is dict and set(body) == {"operation", "payload"} and type(body["operation"]) is str)
            payload = PAYLOADS[body["operation"]](body["payload"])
            lines = payload.get("lines", [])
            need(sum(line["quantity"] for line in lines) <= 50 and len({line["tier"] for line in lines}) == len(lines))
        except (Invalid, ValueError, KeyError, RecursionError):
            raise Refused(400, "INVALID_REQUEST", "The request is not one of the four operations.")
        return getattr(self, body["operation"].replace(".", "_"))(payload)

    def call(self, method, path, schema, meta=META, body=None, headers={}):
        connection = http.client.HTTPConnection(UPSTREAM.netloc, timeout=TIMEOUT)
        try:
            connection.request(method, UPSTREAM.path + path, body and json.dumps(body), {
                "Authorization": "Bearer " + KEY, "X-Request-Id": self.id, **headers,
                **({"Content-Type": "application/json"} if body else {})})
            response = connection.getresponse()
            raw = response.read(MAX_RESPONSE + 1)
            need(len(raw) <= MAX_RESPONSE and not response.read(1))
            value = parse(raw)
        finally:
            connection.close()
        if response.status >= 400:
            return response.status, ERROR(value), response.getheader("Retry-After")
        need(response.status in (200, 201))
        return response.status, record(data=schema, meta=meta)(value)

    def prove(self, event):
        status, body, *retry = self.call("GET", "/events/" + event, EVENT)
        if status < 400:
            need(body["data"]["id"] == event.lower())
            if body["data"]["status"] != "PUBLISHED":
                raise Refused(404, "NOT_FOUND", "The event is not on sale.")
            return None
        return status, body, *retry

    def events_list(self, payload):
        query = urllib.parse.urlencode({**payload, "status": "PUBLISHED"})
        status, body, *retry = self.call("GET", "/events?" + query, array(EVENT, 0, 100), PAGED)
        if status < 400:
            page = body["meta"]["page"]
            need(page["hasMore"] == (page["nextCursor"] is not None))
            need(all(event["status"] == "PUBLISHED" for event in body["data"]))
        return status, body, *retry

    def events_inventory(self, payload):
        path = "/events/" + payload["eventId"]
        failed = self.prove(payload["eventId"])
        if not failed:
            status, body, *retry = self.call("GET", path + "/inventory", TIERS)
            failed = (status, body, *retry) if status >= 400 else self.prove(payload["eventId"])
        return failed or (status, body)

    def pricing_quote(self, payload):
        return self.prove(payload["eventId"]) or self.call("POST", "/pricing/quote", QUOTE, body=payload)

    def checkout_create(self, payload):
        failed = self.prove(payload["eventId"])
        if failed:
            return failed
        key = {"Idempotency-Key": payload.pop("idempotencyKey")}

        def order(v):
            projected = ORDER(v)
            need(v["gross"] == v["floatDebited"])
            return projected
        return self.call("POST", "/checkouts", order, body=payload, headers=key)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "0"))), Proxy)
    print(f"http://127.0.0.1:{server.server_port}/shop/proxy", flush=True)
    server.serve_forever()
