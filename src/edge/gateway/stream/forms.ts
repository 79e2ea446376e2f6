import { ACTORS_OWN_ID_SINCE } from '@parley/protocol/schema/external-ids.ts';
import { covers, NEWEST_VERSION, type Version } from '@parley/protocol/versions.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { cutMarked, type Hidden, withoutPersonal } from '../../../api/marked-json.ts';
import type { BroadcastFrame } from '../../../core/frames/frame.ts';
import type { Form } from './reader.ts';

/** A form of the bytes of one audience. */
export type FormOfAudience = Pick<Form, 'version' | 'hidden'>;

/**
 * Returns a frame's bytes for readers of this form, or undefined if they get none. A form other
 * than the newest is derived once, however many sockets, replays and caches share it.
 */
export function bytesFor(frame: BroadcastFrame, form: Form): Buffer | undefined {
  const newest = form.audience === 'team' ? frame.team : frame.customer;
  const isNewest = form.version === NEWEST_VERSION && form.hidden.length === 0;
  return newest === undefined || isNewest ? newest : derived(newest, form);
}

/**
 * Returns what events lose of other actors for this caller, one object for the same. Bytes of older
 * versions, and those of customers, have no own ids.
 */
export function hiddenFrom(
  version: Version,
  { customer, seesOwnIds, seesHandles }: Sight,
): readonly Hidden[] {
  const hidesOwnIds = !customer && !seesOwnIds && covers(version, ACTORS_OWN_ID_SINCE);
  if (hidesOwnIds) return seesHandles ? OWN_IDS : BOTH;
  return seesHandles ? NOTHING : HANDLES;
}

type Sight = Pick<Principal, 'customer' | 'seesOwnIds' | 'seesHandles'>;

const NOTHING: readonly Hidden[] = [];
const OWN_IDS: readonly Hidden[] = ['own ids'];
const HANDLES: readonly Hidden[] = ['handles'];
const BOTH: readonly Hidden[] = ['own ids', 'handles'];

/** Returns the newest bytes in a form, or undefined if it has none of them. */
export function inForm(newest: Buffer, { version, hidden }: FormOfAudience): Buffer | undefined {
  const bytes = version === NEWEST_VERSION ? newest : cutMarked(version, newest);
  return bytes === undefined || hidden.length === 0 ? bytes : withoutPersonal(hidden, bytes);
}

/** Returns a name that differs between forms. */
export function nameOf({ version, hidden }: FormOfAudience): string {
  return hidden.length === 0 ? version : `${version} without ${hidden.join(' and ')}`;
}

/** By the name of the form; keyed by the bytes of the newest one, and kept as long as those. */
const DERIVED = new Map<string, WeakMap<Buffer, Buffer | null>>();

function derived(bytes: Buffer, to: FormOfAudience): Buffer | undefined {
  const name = nameOf(to);
  let forms = DERIVED.get(name);
  if (forms === undefined) {
    forms = new WeakMap();
    DERIVED.set(name, forms);
  }
  let form = forms.get(bytes);
  if (form === undefined) {
    form = inForm(bytes, to) ?? null;
    forms.set(bytes, form);
  }
  return form ?? undefined;
}
