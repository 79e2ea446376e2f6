import { hash } from 'node:crypto';
import { customAlphabet } from 'nanoid';

/** The prefixes of ids, by kind (docs/contract.md#ids). To callers ids are opaque. */
export const ID_PREFIXES = {
  account: 'acc',
  actor: 'act',
  conversation: 'cnv',
  participant: 'prt',
  block: 'blk',
  message: 'msg',
  attachment: 'att',
  upload: 'upl',
  group: 'grp',
  entity: 'ent',
  role: 'rol',
  session: 'ses',
  avatar: 'ava',
  apiKey: 'key',
  operatorKey: 'opk',
  agent: 'agt',
  agentTool: 'atl',
  agentRun: 'run',
  agentStep: 'stp',
  agentAction: 'acn',
  artifact: 'art',
  notification: 'ntf',
  webhook: 'whk',
  webhookDelivery: 'whd',
  connection: 'con',
  pushSubscription: 'psh',
  pushApp: 'pap',
  pushDevice: 'pdv',
  digest: 'dig',
  auditEvent: 'aud',
  export: 'exp',
  erasure: 'ers',
  import: 'imp',
  event: 'evt',
  inbox: 'inb',
  mail: 'mai',
  emailComplaint: 'ecm',
  identityProvider: 'idp',
  widget: 'wgt',
  addressConfirmation: 'adc',
  invitation: 'inv',
  conversationView: 'cvw',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

// In the order of the bytes, so that ids sort by time under the "C" collation.
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TIME_LENGTH = 8;
const random = customAlphabet(ALPHABET, 16);

let lastMs = -1;
let lastTime = '';

/** Returns `<prefix>_`, 8 characters that grow with time (neighbours in an index) and 16 random. */
export function newId(kind: IdKind): string {
  const nowMs = Date.now();
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    lastTime = encodeTime(nowMs);
  }
  return `${ID_PREFIXES[kind]}_${lastTime}${random()}`;
}

/** Returns the same id for the same key: a repeated creation finds the row of the first one. */
export function derivedId(kind: IdKind, key: string): string {
  return `${ID_PREFIXES[kind]}_${hash('sha256', `${kind} ${key}`, 'hex').slice(0, 24)}`;
}

/**
 * Returns the same id for the same key and moment, in the order of the moments: 13 hexadecimal
 * digits of the microsecond since 1970, and 11 of a hash.
 */
export function timedId(kind: IdKind, microseconds: number, key: string): string {
  const time = microseconds.toString(16).padStart(13, '0');
  return `${ID_PREFIXES[kind]}_${time}${hash('md5', key, 'hex').slice(0, 11)}`;
}

function encodeTime(ms: number): string {
  let text = '';
  for (let rest = ms; text.length < TIME_LENGTH; rest = Math.floor(rest / ALPHABET.length)) {
    text = ALPHABET[rest % ALPHABET.length] + text;
  }
  return text;
}
