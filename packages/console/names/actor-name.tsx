import { useActor } from './use-actor.ts';

/** Shows the name of the actor behind an id. */
export function ActorName({ id }: { readonly id: string | null | undefined }) {
  return <>{useActor(id)?.name ?? '…'}</>;
}
