/** Every kind, gentle enough that a stream gets on between them. */
export const DEFAULT_FAULTS =
  'reset,cut,cut:inside=event,stall:ms=5000,delay:ms=50..500,drip:bytes=20..200:everyMs=20,blackhole:ms=3000,refuse:ms=2000'

export const CHAOS_HELP = `Usage: resilient-sse chaos TARGET [options]

Listens on 127.0.0.1 and passes connections on to TARGET (a URL, or host:port),
breaking them on a schedule that the seed decides. HTTP or TLS: the bytes are
opaque. Prints its URL, then a line for each fault that strikes: the time (UTC),
the connection, and how much of the answer it had passed on.

  --port P         where to listen; default 0: the system picks a port
  --host ADDRESS   default 127.0.0.1: nothing outside the machine can connect
  --faults LIST    separated by commas; each connection gets one, each round
                   deals all of them once, shuffled. Default: one of each kind
  --seed S         another order, other positions and times; default 1
  --rounds N       after so many rounds connections are left alone
  --help

Faults           NAME:FIELD=VALUE:FIELD=VALUE; a value may be a range, 1..500
  reset            RST
  cut              FIN
  stall            silence for ms; without, to the end
  delay            every piece ms later (100), both ways
  drip             bytes (1) at a time, every everyMs (10)
  blackhole        the whole path is silent for ms (1000); bytes=hold, or drop:
                   open connections never speak again
  refuse           RST, and new connections are refused for ms (1000)
  pass             nothing
  afterBytes       for each: strikes when so much of the answer has been passed
                   on (0..16384), or
  afterMs          so long after the connection was accepted
  inside=event     reset and cut: in the middle of a data line; not under TLS
  times            how often in each round (1)

  resilient-sse chaos http://127.0.0.1:3000/events --port 8080 \\
    --faults reset,cut:inside=event,stall:ms=500..2000:times=2 --seed 7

Exit codes: 0 the reader of stdout left
            1 the port could not be listened on
            2 the command line cannot be obeyed
          130 after Ctrl-C (SIGINT), 143 after SIGTERM
`
