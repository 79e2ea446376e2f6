import { PUBLIC_PREFIX } from '@parley/protocol/resources/metadata.ts';
import { texts } from '../texts/texts.ts';

export interface MetadataProps {
  readonly externalId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The application's data about a resource, for a list of facts. */
export function Metadata({ externalId, metadata }: MetadataProps) {
  return (
    <>
      {externalId !== null && (
        <>
          <dt>{texts.details.externalId}</dt>
          <dd>
            <code>{externalId}</code>
          </dd>
        </>
      )}
      {Object.entries(metadata).map(([name, value]) => (
        <MetadataRow key={name} name={name} value={value} />
      ))}
    </>
  );
}

function MetadataRow({ name, value }: { readonly name: string; readonly value: string }) {
  const isPublic = name.startsWith(PUBLIC_PREFIX);
  return (
    <>
      <dt title={isPublic ? texts.details.customerSeesToo : undefined}>
        {isPublic ? name.slice(PUBLIC_PREFIX.length) : name}
        {isPublic && <small class="metadata-public">{texts.details.shownToCustomer}</small>}
      </dt>
      <dd>{value}</dd>
    </>
  );
}
