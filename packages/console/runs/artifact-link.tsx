import type { Artifact } from '@parley/protocol/resources/agent-run.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { sizeText } from '@parley/ui/text/bytes.ts';
import { shownName } from '@parley/ui/text/shown-name.ts';
import { Download } from 'lucide';
import { useSignedIn } from '../session/session-context.tsx';

/** A link to the file that a call has made, if any. */
export function ArtifactLink({ result }: { readonly result: unknown }) {
  const { artifact_id: id } = (result ?? {}) as { readonly artifact_id?: unknown };
  return typeof id === 'string' ? <ArtifactFile id={id} /> : null;
}

/** A link to a file that an agent has made. */
export function ArtifactFile({ id }: { readonly id: string }) {
  const { client } = useSignedIn();
  const { value: artifact } = useResource(id, (signal) =>
    client.fetch<Artifact>(`/v1/ai/artifacts/${encodeURIComponent(id)}`, { signal }),
  );
  if (artifact === null) return null;
  return (
    <a class="artifact-link" href={artifact.url} target="_blank" rel="noopener nofollow ugc">
      <Icon of={Download} size={16} />
      {shownName(artifact.filename)} <small>{sizeText(artifact.size_bytes)}</small>
    </a>
  );
}
