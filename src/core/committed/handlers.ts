import { handle, type TopicHandler } from '../../platform/db/queue/topic.ts';
import { ACTOR_CHANGED, RIGHTS_CHANGED } from '../accounts/rights/rights-changed.ts';
import { followDeletion } from '../conversations/cases/waiting.ts';
import {
  CONVERSATION_ASSIGNED,
  CONVERSATION_CREATED,
  CONVERSATION_DELETED,
  CONVERSATION_READ,
  CONVERSATIONS_READ,
  PARTICIPANT_ADDED,
  SYSTEM_EVENT,
} from '../conversations/outbox-topics.ts';
import { showChangedActor } from '../conversations/participants/changed-actor.ts';
import { RESOURCES_CHANGED } from '../events/changes.ts';
import type { Effects, NodeParts } from '../features/feature.ts';
import {
  type ContentChanged,
  MESSAGE_DELETED,
  MESSAGE_EDITED,
  MESSAGES_IMPORTED,
  MESSAGES_SENT,
  SCHEDULE_NOT_SENT,
} from '../messages/outbox-topics.ts';
import { appendSystemEvent } from '../messages/sending/system-messages.ts';
import type { Timeline } from '../messages/timeline/timeline.ts';
import type { WritePath } from '../messages/timeline/write-path.ts';
import { notifyAdded } from '../notifications/causes/added.ts';
import { notifyAssigned } from '../notifications/causes/assigned.ts';
import { followMentions } from '../notifications/causes/mentions-changed.ts';
import { notifyNotSent } from '../notifications/causes/not-sent.ts';
import { draftsChanged } from '../notifications/causes/proposed.ts';
import { markConversationRead } from '../notifications/feed/mark-conversation.ts';
import { refreshNotifications } from '../notifications/feed/refresh.ts';
import type { Downloads } from '../resources/attachment.ts';
import { publishChanged } from './changed-effects.ts';
import type { SentEffects } from './sent-effects.ts';

export interface CommittedParts extends Pick<NodeParts, 'database' | 'engine' | 'directory' | 'rights'> {
  readonly files: Downloads;
  readonly timeline: Timeline;
  readonly writePath: Pick<WritePath, 'append'>;
  readonly effects: Pick<SentEffects, 'takeOver' | 'finished'>;
  readonly ofFeatures: Required<Effects>;
}

/** Returns the handlers of the core's committed changes, by the topics of their outbox rows. */
export function committedHandlers(parts: CommittedParts): readonly TopicHandler[] {
  const { database, files, engine, directory, rights, timeline, writePath, effects, ofFeatures } = parts;
  const ofChanges = {
    database,
    files,
    engine,
    onPublished: ofFeatures.published,
    onFinished: (messageIds: readonly string[]) => effects.finished(messageIds),
  };
  const contentChanged = async (changed: ContentChanged) => {
    await rights.announce(changed.message_id);
    await refreshNotifications(database, changed);
  };
  return [
    handle(RIGHTS_CHANGED, async ({ subjects }) => {
      await Promise.all(subjects.map((subject) => rights.announce(subject)));
      await ofFeatures.rightsChanged(subjects);
    }),
    handle(MESSAGES_SENT, (sent) => effects.takeOver(sent)),
    handle(MESSAGES_IMPORTED, ({ conversation_id: stream, through: sequence }) =>
      engine.publish(stream, { kind: 'filled', stream, sequence }),
    ),
    handle(RESOURCES_CHANGED, async (changes, isRepeated) => {
      await publishChanged(ofChanges, changes, isRepeated);
      await draftsChanged(database, changes.changes);
      await ofFeatures.changed(changes);
    }),
    handle(CONVERSATION_CREATED, ofFeatures.conversationCreated),
    handle(CONVERSATION_DELETED, ofFeatures.conversationDeleted),
    handle(CONVERSATION_ASSIGNED, (assigned) => database.transaction((tx) => notifyAssigned(tx, assigned))),
    handle(CONVERSATION_READ, (read) => markConversationRead({ database, timeline }, read)),
    handle(CONVERSATIONS_READ, async ({ read }) => {
      for (const one of read) await markConversationRead({ database, timeline }, one);
    }),
    handle(ACTOR_CHANGED, (changed) => showChangedActor(database, changed)),
    handle(PARTICIPANT_ADDED, (added) => notifyAdded(database, added)),
    handle(SYSTEM_EVENT, (event) => appendSystemEvent({ database, engine, writePath }, event)),
    handle(SCHEDULE_NOT_SENT, (ended) => notifyNotSent(database, ended)),
    handle(MESSAGE_EDITED, async (edited) => {
      await contentChanged(edited);
      await followMentions(database, directory, edited);
    }),
    handle(MESSAGE_DELETED, async (deleted) => {
      await contentChanged(deleted);
      await followDeletion(database, deleted.conversation_id);
      await ofFeatures.messageDeleted(deleted);
    }),
  ];
}
