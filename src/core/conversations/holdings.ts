import { type Holdings, OF_CONVERSATION } from '../resources/holdings.ts';
import { NO_METADATA } from '../resources/metadata.ts';
import { presentParticipants, TEAM_READER } from '../resources/participant.ts';
import { readBlocksOf } from './blocks/blocks.ts';
import { moveMember } from './participants/moved-member.ts';
import { readAllParticipants, readMembershipsOf } from './rows/participant-store.ts';

/** The row of a conversation goes once nothing else is in it (deleteEmptyConversation). */
export const conversationHoldings: Holdings = {
  tables: { conversations: { exported: 'conversation', moved: {} } },
  exportsOfPerson: { memberships: (db, _files, { id }) => readMembershipsOf(db, id) },
  exportsOfConversation: {
    async conversation(_db, _files, { changed_in: _, lane_behind: __, direct_key: ___, ...shown }) {
      return { ...shown, metadata: shown.metadata ?? NO_METADATA };
    },
  },
};

/** The members of a conversation, and the blocked actors; exported behind the messages. */
export const memberHoldings: Holdings = {
  tables: {
    participants: { exported: 'participants', moved: OF_CONVERSATION },
    blocks: { account: 'last', actor_id: 'removed', blocker_id: 'removed', exported: 'blocks' },
  },
  movePerson: moveMember,
  exportsOfPerson: { blocks: (db, _files, { id }) => readBlocksOf(db, id) },
  exportsOfConversation: {
    async *participants(db, _files, { id }) {
      const rows = await readAllParticipants(db, id);
      const shown = await presentParticipants(db, TEAM_READER, rows);
      yield shown.map((participant, index) => ({
        ...participant,
        created_at: rows[index]!.created_at,
        updated_at: rows[index]!.updated_at,
      }));
    },
  },
};
