/** Opcodes of frames on the wire (RFC 6455, 5.2). */
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Returns a client's text frame: final and masked, as servers demand it. */
export function textFrame(text: string): Buffer {
  return clientFrame(OPCODES.text, Buffer.from(text));
}

export function clientFrame(opcode: number, payload: Buffer): Buffer {
  const header = headerOf(opcode, payload.length);
  const frame = Buffer.concat([header, MASK, payload]);
  for (let at = 0; at < payload.length; at++) frame[header.length + 4 + at]! ^= MASK[at % 4]!;
  return frame;
}

/** Returns the request that turns a connection into a WebSocket; it ends with an empty line. */
export function upgradeRequest(path: string, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${lines.join('')}\r\n`,
  );
}

/** Any four bytes will do: masks protect proxies, and no proxy is here. */
const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);
const MASKED = 0x80;
const FINAL = 0x80;

function headerOf(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([FINAL | opcode, MASKED | length]);
  const header = Buffer.from([FINAL | opcode, MASKED | 126, 0, 0]);
  header.writeUInt16BE(length, 2);
  return header;
}
