import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { until } from '../support/until.ts';

/** A handmade socket that sends what no library sends, and that need not read. */
export class RawSocket {
  readonly socket: Socket;
  /** The payloads of the text frames so far. */
  readonly texts: string[] = [];
  /** The code of the close frame. */
  closeCode: number | undefined;
  ended = false;
  /** Pongs of the protocol, not frames of type `pong`. */
  pongs = 0;
  #upgraded = false;
  #pending: Buffer = Buffer.alloc(0);

  static async open(port: number, headers: Readonly<Record<string, string>>): Promise<RawSocket> {
    const socket = connect({ port, host: '127.0.0.1' });
    const raw = new RawSocket(socket);
    socket.write(
      [
        'GET /v1/realtime HTTP/1.1',
        `Host: 127.0.0.1:${port}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        '\r\n',
      ].join('\r\n'),
    );
    await until(() => raw.texts.some((text) => text.startsWith('{"type":"ready"')), { what: 'ready' });
    return raw;
  }

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes) => this.#receive(Buffer.concat([this.#pending, bytes])));
    socket.on('close', () => {
      this.ended = true;
    });
    socket.on('error', () => undefined);
  }

  /** One masked frame. */
  frame(opcode: number, payload: string | Buffer, final = true): void {
    this.socket.write(clientFrame(opcode, Buffer.from(payload), final));
  }

  /** Many masked frames, of one byte each. */
  flood(opcode: number, count: number): void {
    const one = clientFrame(opcode, Buffer.from('x'), true);
    this.socket.write(Buffer.concat(Array.from({ length: count }, () => one)));
  }

  /** As no client may send it (RFC 6455, 5.1). */
  unmaskedFrame(opcode: number, payload: string): void {
    const head = lengthHead(Buffer.byteLength(payload));
    head[0] = 0x80 | opcode;
    this.socket.write(Buffer.concat([head, Buffer.from(payload)]));
  }

  #receive(bytes: Buffer): void {
    let at = 0;
    if (!this.#upgraded) {
      at = bytes.indexOf('\r\n\r\n') + 4;
      this.#upgraded = at >= 4;
    }
    while (this.#upgraded) {
      const frame = frameAt(bytes, at);
      if (frame === undefined) break;
      if (frame.opcode === TEXT) this.texts.push(frame.payload.toString());
      if (frame.opcode === PONG) this.pongs += 1;
      if (frame.opcode === CLOSE && frame.payload.length >= 2) this.closeCode = frame.payload.readUInt16BE(0);
      at = frame.end;
    }
    this.#pending = bytes.subarray(this.#upgraded ? at : 0);
  }
}

export const TEXT = 1;
export const BINARY = 2;
export const CONTINUATION = 0;
const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

function clientFrame(opcode: number, payload: Buffer, final: boolean): Buffer {
  const mask = randomBytes(4);
  const head = lengthHead(payload.length);
  head[0] = (final ? 0x80 : 0) | opcode;
  head[1]! |= 0x80;
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ mask[index % 4]!)]);
}

function lengthHead(length: number): Buffer {
  if (length < 126) return Buffer.from([0, length]);
  if (length < 65_536) return Buffer.from([0, 126, length >> 8, length & 0xff]);
  const head = Buffer.alloc(10);
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** The server's, unmasked; undefined until it is whole. */
export function frameAt(bytes: Buffer, at: number) {
  if (at + 2 > bytes.length) return undefined;
  const short = bytes[at + 1]! & 0x7f;
  const start = at + 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
  if (start > bytes.length) return undefined;
  const length =
    short === 126
      ? bytes.readUInt16BE(at + 2)
      : short === 127
        ? Number(bytes.readBigUInt64BE(at + 2))
        : short;
  const end = start + length;
  if (end > bytes.length) return undefined;
  return { opcode: bytes[at]! & 0x0f, payload: bytes.subarray(start, end), end };
}
