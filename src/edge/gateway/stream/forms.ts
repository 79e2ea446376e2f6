import { NEWEST_VERSION, type Version } from '@parley/protocol/versions.ts';
import { cutMarked } from '../../../api/marked-json.ts';
import type { BroadcastFrame } from '../../../core/frames/frame.ts';
import type { Form } from './reader.ts';

/**
 * Returns a frame's bytes for readers of this audience and version, or undefined if they get none.
 * The form of an older version is derived once, however many sockets, replays and caches share it.
 */
export function bytesFor(frame: BroadcastFrame, { audience, version }: Form): Buffer | undefined {
  const newest = audience === 'team' ? frame.team : frame.customer;
  return newest === undefined || version === NEWEST_VERSION ? newest : derived(newest, version);
}

/** Keyed by the bytes of the newest form, and kept as long as those. */
const DERIVED = new Map<Version, WeakMap<Buffer, Buffer | null>>();

function derived(bytes: Buffer, version: Version): Buffer | undefined {
  let forms = DERIVED.get(version);
  if (forms === undefined) {
    forms = new WeakMap();
    DERIVED.set(version, forms);
  }
  let form = forms.get(bytes);
  if (form === undefined) {
    form = cutMarked(version, bytes) ?? null;
    forms.set(bytes, form);
  }
  return form ?? undefined;
}
