"""serve_framing.py — requests made by hand whose framing is doubtful or unusual, and the statuses that may answer them.

ROWS holds (bytes, statuses): None is no answer. Every request that is refused, or whose body is unusual but right, is
followed by HIDDEN, a whole request: it is answered only if the server takes a part of a body for a request, which is
what smuggling needs. Used by serve_http.py and by tools/attack/attack.py."""
BODY = b'{"inputs":"a"}'                                     # 14 bytes: 0xe
HIDDEN = b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n"            # 31 bytes
POST = b"POST /embed HTTP/1.1\r\nHost: a\r\n"
CHUNKED = b"0e\r\n" + BODY + b"\r\n0\r\n\r\n"


def length(line, body=BODY):
    """A POST with this line for the length of its body."""
    return POST + line + b"\r\n\r\n" + body + HIDDEN


def coding(line, body=b"0\r\n\r\n"):
    return POST + line + b"\r\n\r\n" + body + HIDDEN


def chunks(body):
    return POST + b"Transfer-Encoding: chunked\r\n\r\n" + body + HIDDEN


def get(line, header=b"Host: a\r\n"):
    return line + b"\r\n" + header + b"\r\n"


REFUSED = [(row, (400,)) for row in (
    # two lengths, or a length and chunks
    coding(b"Content-Length: 5\r\nTransfer-Encoding: chunked"), coding(b"Transfer-Encoding: chunked\r\nContent-Length: 5"),
    coding(b"Transfer-Encoding: chunked\r\nContent-Length: 0"), coding(b"Transfer-Encoding: identity\r\nContent-Length: 5"),
    length(b"Content-Length: 14\r\nContent-Length: 14"), length(b"Content-Length: 14\r\nContent-Length: 0"),
    length(b"Content-Length: 14\r\ncontent-length: 14"), length(b"Content-Length: 14\r\nContent-Length : 0"),
    # what is not a number of decimal digits
    *(length(b"Content-Length: " + value) for value in (
        b"14, 14", b"14,15", b"+14", b"-1", b"-0", b"0x0e", b"14a", b"a14", b"1 4", b"14;", b"14.0", b"1e1", b'"14"', b"", b"14\x00",
        b"\x0b14", b"14\x0c", b"\xc2\xa014", b"\xd9\xa1\xd9\xa4", b"14 x", b"1_4", b"14\r")),
    # names and lines
    *(length(line, HIDDEN) for line in (
        b"Content-Length : 31", b"Content-Length\t: 31", b"Content-Length\x0b: 31", b"X: a\rContent-Length: 31", b"Content-Length:\r\n 31",
        b"Content-Length:\r\n\t31", b"content-length: 3\r\n 1", b"X: a\r\n Content-Length: 31", b"Content-Length 31", b"Content-Length=31",
        b": 31", b"Content-Length\r\n: 31", b"Content-Length: : 31", b"Content-Length: 31\r\n : x",
        b"X: a\nContent-Length: 31", b"X: a\n\tContent-Length: 31")),
    length(b"Content-Length: 14\r\n "),
    # codings
    *(coding(b"Transfer-Encoding:" + value) for value in (
        b" gzip, chunked", b" xchunked", b" chunke", b" chunkedx", b" identity", b" identity, chunked", b" chunked, identity",
        b" chunked, chunked", b" ,chunked", b" chunked,", b" chunked;q=1", b' "chunked"', b" \x0bchunked", b" chunked\x0c", b"",
        b" chunked\rX: y", b"\r\n chunked", b" chun\r\n ked")),
    coding(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), coding(b"Transfer-Encoding : chunked"),
    coding(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"), coding(b"X: a\r\n Transfer-Encoding: chunked"),
    b"POST /embed HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    # chunks
    *(chunks(body) for body in (
        b"zz\r\n" + BODY, b"-1\r\n" + BODY, b"+e\r\n" + BODY + b"\r\n0\r\n\r\n", b"0xe\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"e\r\n" + BODY + b"XX0\r\n\r\n", b"e\r\n" + BODY + b"0\r\n\r\n", b";x\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"\r\ne\r\n" + BODY + b"\r\n0\r\n\r\n", b"e" + BODY + b"\r\n0\r\n\r\n", b"1 e\r\n" + BODY + b"\r\n0\r\n\r\n")),
    # Host, names of headers
    get(b"GET /ping HTTP/1.1", b""), get(b"GET /ping HTTP/1.1", b"Host: a\r\nHost: b\r\n"), get(b"GET /ping HTTP/1.1", b"Host : a\r\n"),
    get(b"GET /ping HTTP/1.1", b"Host:\r\n a\r\n"), get(b"GET /ping HTTP/1.1", b" Host: a\r\n"), get(b"GET /ping HTTP/1.1", b"Host: a\r\n(a): b\r\n"),
    get(b"GET /ping HTTP/1.1", b"Host: a\r\nno colon\r\n"), get(b"GET /ping HTTP/1.1", b"Host: a\r\nX Y: b\r\n"),
    get(b"GET /ping HTTP/1.1", b"Host: a\r\nX\x7f: b\r\n"), get(b"GET /ping HTTP/1.1", b"Host: a\r\nX\xc3\xa9: b\r\n"),
)]
TAKEN = [(row, (200,)) for row in (
    # optional white space (RFC 9110, 5.6.3), and what is unusual but right
    *(POST + line + b"\r\n\r\n" + BODY for line in (
        b"Content-Length:14", b"Content-Length:   14", b"Content-Length:\t14", b"Content-Length: 14\r\nX: a \t", b"Content-Length: 14\r\nX:",
        b"CONTENT-length: 14", b"Content-Length: 14\r\nConnection: Content-Length", b"Content-Length: 14\r\nUpgrade: h2c\r\nConnection: Upgrade")),
    *(POST + line + b"\r\n\r\n" + CHUNKED for line in (
        b"Transfer-Encoding:chunked", b"Transfer-Encoding: Chunked", b"transfer-encoding:\tchunked", b"Transfer-Encoding: chunked\r\nTE: trailers")),
    *(POST + b"Transfer-Encoding: chunked\r\n\r\n" + body for body in (
        b"0000e\r\n" + BODY + b"\r\n000\r\n\r\n", b"E;a=b;c\r\n" + BODY + b"\r\n0;d\r\n\r\n", b"e\r\n" + BODY + b"\r\n0\r\nContent-Length: 31\r\n\r\n")),
    b"GET /ping HTTP/1.1\r\nHost: a\r\nContent-Length: 31\r\n\r\n" + HIDDEN,
    get(b"GET /ping HTTP/1.1", b"Host:a\r\n"), get(b"GET /ping HTTP/1.1", b"host: \t a \t\r\n"),
    get(b"GET http://a/ping HTTP/1.1", b"Host: a\r\n!#$%&'*+-.^_`|~9z: b\r\n"), get(b"\r\nGET /ping HTTP/1.1"),
)]
ROWS = REFUSED + TAKEN + [
    (POST + b"Content-Length: 014\r\n\r\n" + BODY, (200, 400)),
    (length(b"Content-Length: 18446744073709551616", b""), (400, 413)), (length(b"Content-Length: 18446744073709551630", b""), (400, 413)),
    (length(b"Content-Length: 99999999999999999999999999", b""), (400, 413)), (length(b"Content-Length: 9223372036854775807", b""), (413,)),
    # libmicrohttpd 0.9.75 keeps the blanks at the end of a value
    (length(b"Content-Length: 14 "), (400,)), (length(b"Content-Length: 14\t \t"), (400,)), (coding(b"Transfer-Encoding: chunked "), (400,)),
    (get(b"GET /ping HTTP/1.1", b"Host: a\nX: b\r\n"), (400,)), (b"GET /ping HTTP/1.1\nHost: a\nX: b\r\n\n", (400,)),
    (length(b"Content-Length\x00: 14"), (None, 400)), (length(b"\x00Content-Length: 14"), (None, 400)),
    (coding(b"Transfer-Encoding: chunked\x00"), (None, 400)), (coding(b"Transfer-Encoding\x00: chunked"), (None, 400)),
    (chunks(b"ffffffffffffffffff\r\n" + BODY), (400, 413)), (chunks(b"1000000000000000e\r\n" + BODY), (400, 413)),
    (chunks(b"1000000000000000000e\r\n" + BODY + b"\r\n0\r\n\r\n"), (400, 413)),
    (POST + b"Transfer-Encoding: chunked\r\n\r\ne \r\n" + BODY + b"\r\n0\r\n\r\n", (200, 400)),
    (POST + b"Transfer-Encoding: chunked\r\n\r\n e\r\n" + BODY + b"\r\n0\r\n\r\n", (200, 400)),
    (POST + b"Transfer-Encoding: chunked\r\n\r\ne\n" + BODY + b"\n0\n\n", (200, 400)),
    (POST + b"Transfer-Encoding: chunked\r\n\r\ne\r\n" + BODY + b"\r\n0\r\nX: a\r\n b\r\n\r\n", (200, 400)),
    (b"GET /ping HTTP/1.1\nHost: a\n\n", (200, 400)), (get(b"GET /ping HTTP/3.0"), (400, 505)), (get(b"GET /ping HTTP/1.1x"), (400, 505)),
    (get(b"GET /ping HTTP/2.0"), (400, 505)), (get(b"GET /ping HTTP/01.1"), (400, 505)), (get(b"GET /ping HTTP/1,1"), (400, 505)),
    (get(b"GET /ping HTTP/1.10"), (400, 505)), (get(b"GET /ping http/1.1"), (400, 505)), (get(b"GET /ping HTP/1.1"), (400, 505)),
    (b"GET /ping\r\n\r\n", (None, 400)), (b"GET\r\n\r\n", (None, 400)), (get(b" GET /ping HTTP/1.1"), (None, 400)),
    (get(b"GET  /ping HTTP/1.1"), (200, 400)), (get(b"GET /ping  HTTP/1.1"), (200, 400, 404)), (get(b"GET\t/ping\tHTTP/1.1"), (None, 400)),
    (get(b"get /ping HTTP/1.1"), (400, 405, 501)), (get(b"GET ping HTTP/1.1"), (400, 404)), (get(b"GET * HTTP/1.1"), (400, 404)),
    (get(b"CONNECT a:80 HTTP/1.1"), (400, 404, 405)), (get(b"GET /ping#x HTTP/1.1"), (400, 404)), (get(b"GET /a/../ping HTTP/1.1"), (400, 404)),
    (get(b"GET //ping HTTP/1.1"), (400, 404)), (get(b"GET /%2e/ping HTTP/1.1"), (400, 404)), (get(b"GET /ping%20 HTTP/1.1"), (400, 404)),
    (get(b"GET /ping;x HTTP/1.1"), (400, 404)), (get(b"GET /\xff HTTP/1.1"), (400, 404)), (get(b"GET /%00ping HTTP/1.1"), (400, 404)),
    (get(b"GET /ping%00 HTTP/1.1"), (400, 404)), (get(b"GET /ping\x00 HTTP/1.1"), (None, 200, 400, 404)),
    (get(b"GET /ping HTTP/1.1", b"Host: a\r\nX: a\x00b\r\n"), (None, 200, 400)), (get(b"GET /info HTTP/1.1", b"Host: a, b\r\n"), (400, 403)),
    (get(b"GET /info HTTP/1.1", b"Host: a b\r\n"), (400, 403)), (get(b"GET /info HTTP/1.1", b"Host: \r\n"), (400, 403)),
    (get(b"GET /info HTTP/1.1", b"Host: b@a\r\n"), (400, 403)), (get(b"GET /info HTTP/1.1", b"Host: a.b\r\n"), (400, 403)),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 404, 505)),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) + b"\r\n\r\n", (None, 400)), (b"\x00" * 100 + b"\r\n\r\n", (None, 400)),
    (b"\r\n" * 100 + b"x\r\n\r\n", (None, 400)),
]
