/** SQL: whether the team has blocked this actor, a customer. `actorId` is an expression. */
export function isBlockedByTeam(actorId: string): string {
  return `EXISTS (SELECT FROM blocks WHERE actor_id = ${actorId} AND blocker_id IS NULL)`;
}
