/** The ways to the server, best first (docs/realtime.md#without-websockets). */
export const TRANSPORTS = ['websocket', 'stream', 'poll'] as const;

/**
 * The client's connection: a WebSocket, the answer of one long request, or requests that the server
 * answers when there is something new.
 */
export type Transport = (typeof TRANSPORTS)[number];
