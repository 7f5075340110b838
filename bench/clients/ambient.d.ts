// Installed in bench/ alone, by `npm run bench`; their types are not needed to call a constructor.
declare module '@microsoft/fetch-event-source'
declare module 'event-source-polyfill'
declare module 'eventsource'
declare module 'eventsource-client'
declare module 'eventsource-newest'
declare module 'extended-eventsource'
declare module 'launchdarkly-eventsource'
declare module 'undici-newest'
