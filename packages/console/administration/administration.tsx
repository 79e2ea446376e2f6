import { Button } from '@parley/ui/elements/button.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { Link } from '../nav/link.tsx';
import { usePlace } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { readApiDocument } from './api-document.ts';
import { useSecrets } from './secrets.ts';
import type { Section, SectionGroup } from './section.ts';
import { SectionPage } from './section-page.tsx';
import { ApiContext, useAdministration } from './use-administration.ts';

interface AdministrationProps {
  readonly groups: readonly SectionGroup[];
}

/** The pages for admins of an account, made from the OpenAPI document of the server. */
export function Administration({ groups }: AdministrationProps) {
  const { can } = useSignedIn();
  const { value: api, problem, reload } = useResource('document', readApiDocument);
  if (!can('users:read')) return <p class="shell-empty">{texts.administration.notYours}</p>;
  if (problem !== '') {
    return (
      <div class="shell-empty" role="alert">
        <p>{problem}</p>
        <Button onClick={reload}>{texts.administration.tryAgain}</Button>
      </div>
    );
  }
  if (api === null) return <p class="shell-empty">{texts.administration.loading}</p>;
  return (
    <ApiContext.Provider value={api}>
      <Sections groups={groups} />
    </ApiContext.Provider>
  );
}

function Sections({ groups: wanted }: AdministrationProps) {
  const { offered } = useAdministration();
  const { main } = usePlace();
  const secrets = useSecrets();
  if (main.at !== 'administration') return null;
  const groups = wanted
    .map(({ title, sections }) => ({
      title,
      sections: sections.filter(({ list, get }) => offered(list ?? get) !== undefined),
    }))
    .filter(({ sections }) => sections.length > 0);
  const all = groups.flatMap(({ sections }) => sections);
  const section = all.find(({ slug }) => slug === main.section);
  return (
    <div class="administration" data-section={section?.slug ?? ''}>
      {section === undefined ? (
        <Overview groups={groups} isUnknown={main.section !== ''} />
      ) : (
        <>
          <nav class="administration-nav" aria-label={texts.administration.title}>
            {groups.map(({ title, sections }) => (
              <div key={title}>
                <h2 class="administration-group">{title}</h2>
                {sections.map((one) => (
                  <SectionLink key={one.slug} section={one} isCurrent={one === section} />
                ))}
              </div>
            ))}
          </nav>
          <SectionPage key={section.slug} section={section} id={main.id} secrets={secrets} />
        </>
      )}
    </div>
  );
}

interface SectionLinkProps {
  readonly section: Section;
  readonly isCurrent?: boolean;
}

function SectionLink({ section: { slug, title }, isCurrent = false }: SectionLinkProps) {
  return (
    <Link
      to={{ main: { at: 'administration', section: slug } }}
      class="administration-link"
      aria-current={isCurrent ? 'page' : undefined}
    >
      {title}
    </Link>
  );
}

interface OverviewProps {
  readonly groups: readonly SectionGroup[];
  /** Whether the path names a section that does not exist, or not for the caller. */
  readonly isUnknown: boolean;
}

function Overview({ groups, isUnknown }: OverviewProps) {
  return (
    <div class="administration-overview">
      <h1>{texts.administration.title}</h1>
      {isUnknown && <p role="alert">{texts.administration.unknown}</p>}
      {groups.map(({ title, sections }) => (
        <section key={title} aria-label={title}>
          <h2 class="administration-group">{title}</h2>
          <ul class="administration-cards">
            {sections.map((section) => (
              <li key={section.slug}>
                <SectionLink section={section} />
                <p>{section.about}</p>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}
