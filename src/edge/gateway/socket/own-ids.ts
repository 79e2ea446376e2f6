import { EXTERNAL_PREFIX, EXTERNAL_SINCE } from '@parley/protocol/schema/external-ids.ts';
import {
  type CommandFrame,
  type CommandResult,
  OWN_ID_REPLIED_SINCE,
} from '@parley/protocol/socket/commands.ts';
import { covers, type Version } from '@parley/protocol/versions.ts';
import type { ExternalIds } from '../../../api/access/external-ids.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { AnyFrame } from './requests.ts';

/** Returns whether the request names a conversation by `ext:` and its own id. */
export function hasOwnIds(frame: AnyFrame, version: Version): boolean {
  if (!covers(version, EXTERNAL_SINCE)) return false;
  return namesIn(frame).some(isOwn);
}

/**
 * Returns the request with ids of Parley in place of own ids (docs/contract.md#own-ids). One that
 * names nothing stays, and is then refused like every other unknown id.
 */
export async function withOurIds(ids: ExternalIds, principal: Principal, frame: AnyFrame): Promise<AnyFrame> {
  const own = namesIn(frame).filter(isOwn);
  const found = await ids.find(principal, own.map(asked));
  const ours = new Map(
    own.flatMap((name, index) => (found[index] === undefined ? [] : [[name, found[index]]])),
  );
  if (frame.type === 'resume') return { ...frame, conversations: byOurIds(frame.conversations, ours) };
  if (!('conversation_id' in frame)) return frame;
  return { ...frame, conversation_id: ours.get(frame.conversation_id) ?? frame.conversation_id };
}

/** Returns the field of a reply to a request that named its conversation by an own id. */
export function ownIdOf(
  { conversation_id: name }: CommandFrame<'subscribe'>,
  version: Version,
): Pick<CommandResult<'subscribe'>, 'external_id'> {
  if (!isOwn(name) || !covers(version, OWN_ID_REPLIED_SINCE)) return {};
  return { external_id: name.slice(EXTERNAL_PREFIX.length) };
}

function namesIn(frame: AnyFrame): readonly string[] {
  if (frame.type === 'resume') return Object.keys(frame.conversations);
  return 'conversation_id' in frame ? [frame.conversation_id] : [];
}

function isOwn(name: string): boolean {
  return name.startsWith(EXTERNAL_PREFIX);
}

function asked(name: string) {
  return { kinds: ['conversation'], externalId: name.slice(EXTERNAL_PREFIX.length), param: AT } as const;
}

const AT = 'conversation_id';

/** Of a conversation with two names, the client may miss what follows the lower number. */
function byOurIds(
  conversations: Readonly<Record<string, number>>,
  ours: ReadonlyMap<string, string>,
): Record<string, number> {
  const known: Record<string, number> = {};
  for (const [name, after] of Object.entries(conversations)) {
    const id = ours.get(name) ?? name;
    known[id] = Math.min(known[id] ?? after, after);
  }
  return known;
}
