import type { Participant } from '@parley/protocol/resources/participant.ts';

/** The values of `membership` of members: hiding the conversation does not end a membership. */
export const MEMBER = ['active', 'hidden'] as const satisfies readonly Participant['membership'][];

/** SQL: the same as a condition. */
export const IS_MEMBER = `membership IN (${MEMBER.map((value) => `'${value}'`).join(', ')})`;

export function isMember({ membership }: { readonly membership: string }): boolean {
  return (MEMBER as readonly string[]).includes(membership);
}
