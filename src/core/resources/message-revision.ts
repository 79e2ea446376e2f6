import { type ActorFields, presentActor } from '../../contract/protocol/resources/actor.ts';
import type { MessageRevision } from '../../contract/protocol/resources/message-revision.ts';

export interface RevisionRow extends Omit<MessageRevision, 'object' | 'replaced_by'> {
  readonly replaced_by: ActorFields | null;
}

export function presentRevision({ replaced_by, ...row }: RevisionRow): MessageRevision {
  return { object: 'message_revision', ...row, replaced_by: replaced_by && presentActor(replaced_by) };
}
