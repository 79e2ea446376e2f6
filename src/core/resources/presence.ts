/**
 * SQL: the presence of the actor with this id, which is an expression, over all nodes
 * (edge/gateway/presence/presence-record.ts). An open socket counts more than one that has closed,
 * whatever its status; among those, online counts more than away.
 */
export function presenceOf(actorId: string): string {
  return `coalesce((
      SELECT e.status FROM presences e JOIN presence_nodes o ON o.id = e.node_id AND o.until > clock_timestamp()
      WHERE e.actor_id = ${actorId} AND (e.until IS NULL OR e.until > clock_timestamp())
      ORDER BY e.until IS NULL DESC, e.status = 'online' DESC LIMIT 1
    ), 'offline')`;
}
