import { Download } from 'lucide';
import type { Artifact } from '../../../../contract/protocol/resources/agent-run.ts';
import { sizeText } from '../../../../platform/ui/bytes.ts';
import { Icon } from '../../../../platform/ui/icon.tsx';
import { useRead } from '../../../../platform/ui/read.ts';
import { shownName } from '../../../../platform/ui/shown-name.ts';
import { useSignedIn } from '../session/session-context.tsx';

/** A link to the file that a call has made; nothing where it made none. */
export function ArtifactLink({ result }: { readonly result: unknown }) {
  const { artifact_id: id } = (result ?? {}) as { readonly artifact_id?: unknown };
  return typeof id === 'string' ? <ArtifactFile id={id} /> : null;
}

/** A link to a file that an agent has made. */
export function ArtifactFile({ id }: { readonly id: string }) {
  const { client } = useSignedIn();
  const { value: artifact } = useRead(id, () =>
    client.fetch<Artifact>(`/v1/ai/artifacts/${encodeURIComponent(id)}`),
  );
  if (artifact === null) return null;
  return (
    <a class="artifact-link" href={artifact.url} target="_blank" rel="noopener nofollow ugc">
      <Icon of={Download} size={16} />
      {shownName(artifact.filename)} <small>{sizeText(artifact.size_bytes)}</small>
    </a>
  );
}
