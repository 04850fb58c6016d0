import http from "node:http";

/**
 * flaky forwards to a server and breaks the first event stream after some
 * frames: by a TCP reset, or by ending the answer as if it were complete.
 */
export async function flaky(target, { how, after }) {
  let broken = false;
  const requests = [];
  const proxy = http.createServer((req, res) => {
    requests.push(`${req.method} ${req.url}`);
    const url = new URL(req.url, target);
    const onward = http.request(url, { method: req.method, headers: { ...req.headers, host: url.host } }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      if (broken || answer.headers["content-type"] !== "text/event-stream") {
        answer.pipe(res);
        return;
      }
      let frames = 0;
      answer.setEncoding("utf8");
      let rest = "";
      answer.on("data", (chunk) => {
        rest += chunk;
        let end;
        while (!broken && (end = rest.indexOf("\n\n")) >= 0) {
          res.write(rest.slice(0, end + 2));
          rest = rest.slice(end + 2);
          if (++frames < after) continue;
          broken = true;
          answer.destroy();
          if (how === "eof") res.end();
          else setTimeout(() => res.socket.resetAndDestroy(), 50); // what was written arrives first
        }
      });
      answer.on("end", () => res.end());
      answer.on("error", () => {});
    });
    onward.on("error", () => res.destroy());
    req.pipe(onward);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${proxy.address().port}`,
    requests,
    wasBroken: () => broken,
    close: () => { proxy.closeAllConnections(); proxy.close(); },
  };
}
