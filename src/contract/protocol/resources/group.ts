import { type Static, Type } from 'typebox';
import { Body, describe, Id, Name } from '../schema/schema.ts';
import { AvatarKey } from './avatar.ts';

/** Most users and agents in a group. */
export const MAX_GROUP_MEMBERS = 100;

/** What `include[]` may name on the endpoints of groups. */
export const GROUP_INCLUDES = ['members'] as const;

/** `members` in the order in which they are shown. */
export const CreateGroupBody = Body({
  name: Name,
  members: Type.Optional(Type.Array(Id, { maxItems: MAX_GROUP_MEMBERS, uniqueItems: true })),
});

describe(CreateGroupBody, {
  name: 'Name of the group.',
  members: 'Ids of users and agents (`act_…`, `agt_…`), in the order in which they are shown; each once.',
});

export const UpdateGroupBody = Body({
  name: Type.Optional(Name),
  members: CreateGroupBody.properties.members,
  avatar_s3_key: Type.Optional(AvatarKey),
});
export type UpdateGroupBody = Static<typeof UpdateGroupBody>;
describe(UpdateGroupBody, {
  name: 'The new name of the group. The persona Customer Service keeps its name.',
  members: 'The new members in place of those before, in the order in which they are shown; each once.',
});
