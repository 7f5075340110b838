export const HELP = `Usage: resilient-sse URL [options]     follow a stream of Server-Sent Events
       resilient-sse demo [options]    watch one survive every kind of fault
                                       (resilient-sse demo --help)
       resilient-sse chaos TARGET ...  put a relay before a server and break its
                                       connections (resilient-sse chaos --help)

Prints the data of each event on stdout and everything else on stderr.
Reconnects, resumes and drops duplicates until the server says 204, a final
error comes, or you stop it.

Seconds may have a fraction; what stands in brackets is the default.

Output
  --json                    one JSON object a line: {"id","event","data"}
  --event TYPE              print events of this type only ("message" is the
                            type of events without one)
  --max N                   stop after N events were printed
  --timeout SECONDS         stop after this long
  --stats                   a live table of the stream on stderr; where that is
                            no terminal, a line now and then and one at the end
  --stats-every SECONDS     how often that line comes [10]
  --quiet                   no status lines; --stats and the last error stay
  --help, --version

The request
  --header 'Name: value'    a request header; may be repeated
  --method METHOD           [GET, or POST with --data]
  --data TEXT               the request body; a POST is sent once only, unless
  --resend                  allows to send it again after a failure
  --open-timeout SECONDS    from the dial to the response headers [30]
  --max-connection SECONDS  give a connection up after this long and resume
  --max-event-chars N       the largest event [16777216]
  --no-reconnect-on-end     a clean end of the response ends the stream

Layer 1, tcp
  --keepalive SECONDS       idle time before keepalive probes [15]
  --connect-timeout SECONDS name lookup, connect and TLS together [10]
  --proxy URL               a forward proxy, or "env" for HTTPS_PROXY etc.
  --http2                   offer HTTP/2 in TLS
  --no-tcp-nodelay          leave Nagle's algorithm on
Layer 2, heartbeat
  --heartbeat SECONDS       silence after which a connection is given up [auto:
                            120 until comments tell the server's rhythm]
  --event-timeout SECONDS   the same for events, whatever comments come [never]
Layer 3, resume
  --last-event-id ID        start after this event
  --cursor FILE             keep the id of the last event printed in FILE and
                            start after it next time; each id is on disk before
                            the next event is printed
  --query-parameter NAME    send the id as this query parameter, too
  --is-next decimal         ids count up by one: others tell a gap
  --on-gap report|throw     what follows a gap [report]; throw: exit code 1
Layer 4, backoff
  --backoff-base SECONDS    before the first retry [0.5]
  --backoff-max SECONDS     the longest delay [16]
  --backoff-factor N        growth per failure [2]
  --backoff-jitter HOW      full, equal, decorrelated or 0 to 1 [full]
  --backoff-reset-after SECONDS
                            how old a connection proves its health [10]
  --max-attempts N          failures in a row that end the stream [none do]
Layer 4, breaker
  --breaker-threshold N     failures in a row that open it [6]
  --breaker-cooldown SECONDS
                            how long it stays open [30]
  --breaker-on-open auto|wait|throw
                            what follows [auto: throw until the first
                            connection, wait after it]
Layer 5, dedupe
  --dedupe-capacity N       ids that are remembered [10000]
  --dedupe-by id|id+data    what makes two events the same [id]
Each layer is switched off by --no-tcp, --no-heartbeat, --no-resume,
--no-backoff, --no-breaker or --no-dedupe.

Control characters from the server are spelled out when stdout is a terminal.

Exit codes: 0 the stream ended, --max was reached, or the reader of stdout left
            1 the stream failed
            2 the command line cannot be obeyed
          124 --timeout was reached
          130 after Ctrl-C (SIGINT), 143 after SIGTERM; --cursor is saved
`

export const DEMO_HELP = `Usage: resilient-sse demo [options]

Streams events from a server in a process of its own, on 127.0.0.1, while every
kind of fault that has a right recovery strikes once, at seeded positions. Then
a table tells for each fault which layer noticed it and after how long, when the
event came that was due, and how many were lost or doubled, byte for byte
against the server's log. All of it is measured; the options in the first lines
make the client less patient than it is by default. "http" is the answer itself:
its status, its type, its end.

  --events N       how many events; 400 to 1000000, default 10000
  --seed S         another order, other positions, other data; default 1
  --json           one JSON object instead of the table
  --only TEXT      only the faults with this text in their names; repeatable
  --without LAYER  switch a layer off and see what it was good for: tcp,
                   heartbeat, resume, backoff, breaker or dedupe
  --serve PORT     leave the server running on that port, with these faults
                   again and again, for experiments of your own; 0 picks a port
  --help

Left out: what ends a stream for good by design (404, an HTML page before the
first open, an event of 64 MiB, a redirect loop, a bad certificate), what makes
the client wait an hour because the server asks for it (retry: 99999999999), and
what no client can make good (a server that numbers its events anew).

Exit codes: 0 nothing was lost, doubled, altered or out of order
            1 something was, or the stream did not get to its end
            2 the command line cannot be obeyed
`
