import { Icon } from '@parley/ui/elements/icon.tsx';
import { Notices } from '@parley/ui/feedback/notices.tsx';
import { ArrowLeft } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { NewConversation } from '../inbox/new-conversation.tsx';
import { Link } from '../nav/link.tsx';
import { go, type Main, usePlace } from '../nav/place.ts';
import { NotificationsPage } from '../notifications/notifications-page.tsx';
import { Palette } from '../search/palette.tsx';
import { SearchPage } from '../search/search-page.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { Conversation } from '../timeline/conversation.tsx';
import { WorkPage } from '../work/work-page.tsx';
import { Banner } from './banner.tsx';
import { useDeclaredPresence } from './declare-presence.ts';
import { HelpDialog } from './help-dialog.tsx';
import { Loaded } from './loaded.tsx';
import { usePageTitle } from './page-title.ts';
import { focusMain, focusPart } from './parts-focus.ts';
import { SettingsPage } from './settings-page.tsx';
import { useGlobalKeys } from './shortcuts.ts';
import { SideBar } from './side-bar.tsx';
import { SidePane } from './side-pane.tsx';

type OpenDialog = 'palette' | 'new' | 'help';

/** The frame of the console: the side bar, the main part, and the pane beside it. */
export function Shell() {
  const { main, pane } = usePlace();
  const { me, can } = useSignedIn();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const hasPane = main.at === 'conversation' && pane !== undefined;
  useDeclaredPresence();
  usePageTitle(main, me.actor.id);
  useFocusOf(main);
  useGlobalKeys({
    find: () => setDialog('palette'),
    new: () => can('messaging:create') && setDialog('new'),
    search: () => go({ main: { at: 'search', search: {} } }),
    help: () => setDialog('help'),
    nextPart: () => focusPart(1),
    previousPart: () => focusPart(-1),
  });
  return (
    <div class="shell" data-main={main.at} data-pane={hasPane}>
      <a class="shell-skip" href="#main">
        Skip to the content
      </a>
      <SideBar
        onFind={() => setDialog('palette')}
        onNew={() => setDialog('new')}
        onHelp={() => setDialog('help')}
      />
      <Banner />
      <main class="shell-main" id="main" tabIndex={-1}>
        <Link to={{ main: { at: 'home' } }} class="shell-back">
          <Icon of={ArrowLeft} size={16} />
          Inbox
        </Link>
        <MainPart main={main} />
      </main>
      {main.at === 'conversation' && pane !== undefined && <SidePane conversationId={main.id} pane={pane} />}
      <Notices />
      {dialog === 'palette' && <Palette onClose={close} />}
      {dialog === 'new' && <NewConversation onClose={close} />}
      {dialog === 'help' && <HelpDialog onClose={close} />}
    </div>
  );
}

/** Moves the focus with the place: into the opened part, and back to its row in the list. */
function useFocusOf(main: Main): void {
  const place = main.at === 'conversation' ? main.id : main.at;
  const isHome = main.at === 'home';
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    focusMain(isHome);
  }, [place, isHome]);
}

function MainPart({ main }: { readonly main: Main }) {
  switch (main.at) {
    case 'conversation':
      return (
        <Conversation
          key={main.id}
          id={main.id}
          {...(main.message !== undefined && { message: main.message })}
        />
      );
    case 'work':
      return <WorkPage />;
    case 'notifications':
      return <NotificationsPage />;
    case 'search':
      return <SearchPage />;
    case 'settings':
      return <SettingsPage />;
    case 'administration':
      return <Loaded load={administration} />;
    case 'installation':
      return <Loaded load={installation} />;
    case 'home':
      return (
        <div class="shell-empty">
          <p>Choose a conversation, or press ? for the keys.</p>
        </div>
      );
  }
}

const administration = async () => (await import('../sections.tsx')).AdministrationPage;
const installation = async () => (await import('../installation/installation.tsx')).Installation;
