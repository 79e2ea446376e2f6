import { ApiError, invalid, missingField } from '@parley/protocol/errors/errors.ts';
import {
  COMMANDS,
  type CommandFrame,
  commandSchema,
  isOp,
  MAX_REQUEST_ID_CHARACTERS,
  type Op,
  PongFrame,
} from '@parley/protocol/socket/commands.ts';
import { compile, parseObject, type Validator } from '@parley/protocol/validation/validation.ts';

/** A frame that its validator accepted, or the error for the reply. */
export type Request =
  | { readonly id: string; readonly op: Op; readonly frame: AnyFrame; readonly error?: undefined }
  | {
      /** Null if the frame has none to echo. */
      readonly id: string | null;
      /** Undefined if the frame has no known op. */
      readonly op: Op | undefined;
      readonly frame?: undefined;
      readonly error: ApiError;
    };

export type AnyFrame = { [O in Op]: CommandFrame<O> }[Op];

/**
 * Reads a client's text frame (docs/realtime.md#requests). Checks JSON, type, id, op and fields in
 * this order. Does not use `bytes` after it returns.
 */
export function readRequest(bytes: ArrayBuffer): Request | 'pong' {
  if (isPlainPong(new Uint8Array(bytes))) return 'pong';
  const text = Buffer.from(bytes).toString();
  let id: string | null = null;
  let op: Op | undefined;
  try {
    const value = parseObject(text);
    if (value.type === 'pong') {
      validatePong ??= compile(PongFrame);
      validatePong(value);
      return 'pong';
    }
    id = requireId(value.id);
    op = requireOp(value.type);
    return { id, op, frame: validatorOf(op)(value) };
  } catch (error) {
    return { id: id ?? idIn(text), op, error: toApiError(error) };
  }
}

/**
 * Returns whether the frame is `{"type":"pong","t":…}` with a whole number and no white space, as
 * JSON.stringify writes it: nearly every frame of an idle socket is, and need not be parsed. The
 * validator recognizes any other valid form.
 */
function isPlainPong(bytes: Uint8Array): boolean {
  const start = PONG_START.length;
  const last = bytes.length - 1;
  // Up to 15 digits are an exact number, and valid JSON if no zero leads.
  if (last <= start || last > start + 15 || bytes[last] !== CLOSING_BRACE) return false;
  for (let index = 0; index < start; index++) if (bytes[index] !== PONG_START[index]) return false;
  for (let index = start; index < last; index++)
    if (bytes[index]! < ZERO || bytes[index]! > NINE) return false;
  return bytes[start] !== ZERO || last === start + 1;
}

const PONG_START = new TextEncoder().encode('{"type":"pong","t":');
const CLOSING_BRACE = '}'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);
const NINE = '9'.charCodeAt(0);

/** Compiled at first use, because compiling all would delay every start. */
const VALIDATORS = new Map<Op, Validator<AnyFrame>>();
let validatePong: Validator<unknown> | undefined;

function validatorOf(op: Op): Validator<AnyFrame> {
  let validate = VALIDATORS.get(op);
  if (validate === undefined) {
    validate = compile(commandSchema(op)) as Validator<AnyFrame>;
    VALIDATORS.set(op, validate);
  }
  return validate;
}

function requireId(value: unknown): string {
  const id = requireString(value, 'id');
  if (!isEchoed(id)) throw invalid('id', `Must be at most ${MAX_REQUEST_ID_CHARACTERS} characters.`);
  return id;
}

function requireString(value: unknown, param: string): string {
  if (value === undefined || value === null) throw missingField(param);
  if (typeof value !== 'string') throw new ApiError('invalid_format', 'Must be a string.', { param });
  return value;
}

function requireOp(value: unknown): Op {
  const type = requireString(value, 'type');
  if (!isOp(type)) throw invalid('type', `Must be one of: ${Object.keys(COMMANDS).join(', ')}.`);
  return type;
}

/** Returns the id of a frame refused for one string in it: its client waits for this id. */
function idIn(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
    return typeof id === 'string' && isEchoed(id) ? id : null;
  } catch {
    return null;
  }
}

function isEchoed(id: string): boolean {
  return id.length <= MAX_REQUEST_ID_CHARACTERS && id.isWellFormed();
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('invalid_format', 'The frame cannot be read.', { cause: error });
}
