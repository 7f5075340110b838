export const HELP = `Usage: resilient-sse URL [options]     follow a stream of Server-Sent Events
       resilient-sse demo [options]    watch one survive every kind of fault
                                       (resilient-sse demo --help)

Prints the data of each event on stdout and everything else on stderr.
Reconnects, resumes and drops duplicates until the server says 204, a final
error comes, or you stop it.

  --header 'Name: value'    a request header; may be repeated
  --method METHOD           default GET, or POST with --data
  --data TEXT               the request body; a POST is sent once, never again
  --last-event-id ID        start after this event
  --cursor FILE             keep the id of the last event printed in FILE and
                            start after it next time; each id is on disk before
                            the next event is printed
  --json                    one JSON object a line: {"id","event","data"}
  --event TYPE              print events of this type only ("message" is the
                            type of events without one)
  --max N                   stop after N events were printed
  --timeout SECONDS         stop after this long
  --heartbeat SECONDS       silence after which a connection is given up;
                            default 120 until comments tell the server's rhythm
  --proxy URL               a forward proxy, or "env" for HTTPS_PROXY etc.
  --quiet                   nothing on stderr but errors
  --help, --version

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
