"""Serves the files of a folder with ETags and ranges: data_server.py FOLDER PORT_FILE LOG [CERTIFICATE].

The port goes to PORT_FILE, "PATH RANGE" of each request to LOG. While FOLDER/slow exists, a file comes at about 200 kB/s.
With a certificate (and its key, in one file) it speaks TLS.
"""
import hashlib
import http.server
import os
import re
import ssl
import sys
import time

folder, port_file, log, *certificate = sys.argv[1:]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = self.headers.get("Range")
        with open(log, "a") as lines:
            lines.write(f"{self.path} {wanted or 'all'}\n")
        try:
            with open(folder + self.path, "rb") as file:
                data = file.read()
        except OSError:
            self.send_error(404)
            return
        etag = '"' + hashlib.sha256(data).hexdigest()[:16] + '"'
        begin = 0
        if wanted and self.headers.get("If-Range") == etag:
            begin = int(re.fullmatch(r"bytes=(\d+)-", wanted).group(1))
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        slow = os.path.exists(folder + "/slow")
        step = 20000 if slow else len(data) + 1
        for at in range(begin, len(data), step):
            self.wfile.write(data[at : at + step])
            if slow:
                time.sleep(0.1)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[0])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.handle_error = lambda *_: None  # clients that leave are part of the tests
with open(port_file + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(port_file + ".new", port_file)
server.serve_forever()
