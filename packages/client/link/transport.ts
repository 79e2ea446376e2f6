/** The ways to the server, best first (docs/realtime.md#without-websockets). */
export const TRANSPORTS = ['websocket', 'stream', 'poll'] as const;

/**
 * How the client is connected: over a WebSocket, over the answer of one long request, or over
 * requests that the server answers when there is something new.
 */
export type Transport = (typeof TRANSPORTS)[number];
